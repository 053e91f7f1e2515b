"""Functions that a user's SQL may call untrusted: they see their arguments and nothing else.

A list of what is known to be harmless, not of what is known to harm: a function that a later engine
adds is refused until somebody has looked at it. Left out on purpose: what reads files, settings,
variables, secrets or the catalog, what writes logs or sequences, what sleeps or raises errors by
itself, and what is another value at every call (random, uuid, now), so that models repeat.
"""

from __future__ import annotations

_OPERATORS = (
    "!__postfix !~~ !~~* % & && * ** + - -> ->> / // <-> << <=> <@ >> @ @> ^ ^@ | || ~ ~~ ~~* ~~~"
)
_NUMBERS = """
abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot degrees
divide even exp factorial fdiv floor fmod gamma gcd greatest greatest_common_divisor isfinite isinf
isnan lcm least least_common_multiple lgamma ln log log10 log2 mod multiply nextafter pi pow power
radians round round_even roundbankers sign signbit sin sinh sqrt subtract tan tanh trunc xor
"""
_TEXTS = """
ascii base64 bin bit_length char_length character_length chr concat concat_ws contains
damerau_levenshtein decode editdist3 encode ends_with format format_bytes from_base64 from_hex
hamming hash hex ilike_escape instr jaccard jaro_similarity jaro_winkler_similarity lcase left
left_grapheme len length length_grapheme levenshtein like_escape lower lpad ltrim md5 md5_number
md5_number_lower md5_number_upper mismatches nfc_normalize not_ilike_escape not_like_escape
octet_length ord overlay parse_dirname parse_dirpath parse_filename parse_path position prefix
printf regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches
regexp_replace regexp_split_to_array repeat replace reverse right right_grapheme rpad rtrim sha1
sha256 split split_part starts_with str_split str_split_regex string_split string_split_regex
string_to_array strip_accents strlen strpos substr substring substring_grapheme suffix to_base
to_base64 to_binary to_hex translate trim ucase unbin unhex unicode upper url_decode url_encode
"""
_TIMES = """
age century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day
dayname dayofmonth dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_ns epoch_us era
hour isodow isoyear julian last_day make_date make_time make_timestamp make_timestamp_ms
make_timestamp_ns make_timestamptz microsecond millennium millisecond minute month monthname
nanosecond normalized_interval quarter second strftime strptime time_bucket timezone timezone_hour
timezone_minute to_centuries to_days to_decades to_hours to_microseconds to_millennia
to_milliseconds to_minutes to_months to_quarters to_seconds to_timestamp to_weeks to_years
try_strptime week weekday weekofyear year yearweek
"""
_NESTED = """
aggregate apply array_aggr array_aggregate array_append array_apply array_cat array_concat
array_contains array_distance array_distinct array_extract array_filter array_has array_has_all
array_has_any array_indexof array_intersect array_length array_position array_prepend array_reduce
array_resize array_reverse array_reverse_sort array_slice array_sort array_to_string
array_transform array_unique array_value array_where array_zip cardinality element_at filter flatten
json_array_length json_contains json_exists json_extract json_extract_path json_extract_path_text
json_extract_string json_keys json_type json_valid json_value list_aggr list_aggregate
list_any_value list_append list_apply list_avg list_bool_and list_bool_or list_cat list_concat
list_contains list_count list_distance list_distinct list_element list_extract list_filter
list_first list_has list_has_all list_has_any list_indexof list_intersect list_last list_max
list_median list_min list_mode list_pack list_position list_prepend list_product list_reduce
list_resize list_reverse list_reverse_sort list_select list_slice list_sort list_sum list_transform
list_unique list_value list_where list_zip map map_concat map_contains map_entries map_extract
map_extract_value map_from_entries map_keys map_values reduce row struct_concat struct_contains
struct_extract struct_extract_at struct_has struct_indexof struct_insert struct_keys struct_pack
struct_position struct_values union_extract union_tag union_value
"""
_OTHERS = """
can_cast_implicitly constant_or_null enum_code enum_first enum_last enum_range equi_width_bins
get_bit if ifnull nullif set_bit switch typeof uuid_extract_timestamp uuid_extract_version
"""
SCALARS = frozenset(
    " ".join((_OPERATORS, _NUMBERS, _TEXTS, _TIMES, _NESTED, _OTHERS)).lower().split()
)

_AGGREGATES = """
any_value approx_count_distinct approx_quantile arbitrary arg_max arg_max_null arg_min arg_min_null
argmax argmin array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count count_if count_star
countif covar_pop covar_samp entropy favg first fsum geomean geometric_mean group_concat histogram
kahan_sum kurtosis kurtosis_pop last list listagg mad max max_by mean median min min_by mode product
quantile quantile_cont quantile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2
regr_slope regr_sxx regr_sxy regr_syy sem skewness stddev stddev_pop stddev_samp string_agg sum
sum_no_overflow sumkahan var_pop var_samp variance wavg weighted_avg
"""
AGGREGATES = frozenset(_AGGREGATES.split())
_WINDOWS = """
cume_dist dense_rank fill first first_value lag last last_value lead nth_value ntile percent_rank
rank rank_dense row_number
"""
WINDOWS = frozenset(_WINDOWS.split())

PARQUET_SCANS = frozenset({"read_parquet", "parquet_scan"})
FILE_SCANS = PARQUET_SCANS | {
    *("read_csv", "read_csv_auto", "read_json", "read_json_auto"),
    *("read_ndjson", "read_ndjson_auto"),
}
# Table functions that read nothing.
TABLES = frozenset({"generate_series", "range", "unnest"})
