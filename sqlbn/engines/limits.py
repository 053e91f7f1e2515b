"""Every tuning constant, as fields of one value, and how long lists are cut up by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class LooCosts:
    """What leave-one-out of one k' costs in each form, in seconds of a core: `kinds/forms.py`.

    To plan it, a query each: at all, a class of an attribute, the same once more for every other
    join (wide); at all, an attribute, a class (long); at all, an attribute (arrays). To run it: a
    row and attribute, a class of it.
    """

    wide_plan: tuple[float, float, float]
    wide_row: tuple[float, float]
    long_plan: tuple[float, float, float]
    long_row: tuple[float, float]
    array_plan: tuple[float, float]
    array_row: tuple[float, float]


@dataclass(frozen=True)
class Limits:
    """Every tuning constant, as one value that a session carries: `session.limits`.

    A fit, a prediction and a test of either get another by `Settings(limits=Limits(…))`, in Python
    `sqlbn.fit(…, limits=Limits(…))`. What a constant means and where it was measured stands beside
    it; what users may choose is an option, not a limit.
    """

    # -- engines, data -----------------------------------------------------------------------

    # A packed key of up to this many bits is counted in an array instead of a hash table: enough
    # for the blocks of the covering plan (2^17 cells: 11 ms a million rows, three times that
    # without). Past that the array is mostly empty (adult, k = 5: 24 bits make pass 2 ten times
    # slower).
    perfect_hash_bits: int = 18
    # Rows of one batch of a stream.
    batch_rows: int = 100_000
    # Past this share of the memory limit persisted rows go to a Parquet file: a table that is
    # spilled and read back costs more (20 M rows x 55 columns under 1 GB: 8 blocks 3.4 s against
    # 2.1 s).
    persist_share: float = 0.4
    # With a memory limit the engine has what the rest of the process leaves of it, but this share
    # and so many bytes at least; it is looked at again when the process has changed by so much of
    # the limit, and after so many seconds, in about 2 ms (freed arrays do not show: covtype had 500
    # MB of them all through a fit). Libraries that are loaded, and pages of them that are first
    # touched, while a fit runs are no arrays: 105 MB at the start, 180 with a fit of iris.
    engine_share: float = 0.5
    engine_least_bytes: int = 50_000_000
    memory_step_share: float = 0.03
    memory_look_seconds: float = 0.25
    process_growth_bytes: int = 75_000_000
    # Somewhat more threads than cores help where rows come from afar; thousands only wait for each
    # other.
    threads_per_core: int = 4
    # Columns that one statement over rows looks at: planning grows faster than its expressions
    # (DuckDB 2.0, 5,000 rows: count(DISTINCT) of 1,000 columns took minutes in one statement, a
    # second in blocks of 50).
    statement_columns: int = 100
    # Columns whose categories are counted in one statement: 44 of 11,000 rows take 56 ms in as many
    # statements, 31 ms in four; of a file with 387,000 rows 182 and 116 ms.
    counted_columns: int = 16
    # Rows up to which columns of a wide file are copied before they are looked at one by one.
    copied_rows: int = 1 << 17
    # Terms of one sum: the engine refuses expressions that are 1,000 deep, and a + b + c is 2 deep.
    sum_terms: int = 100
    # Joins that one statement over rows should have, and the same of Spark.
    joins_at_once: int = 64
    spark_joins_at_once: int = 8
    # Cells of a block of counts in Spark, and blocks that one statement counts.
    spark_block_cells: int = 1 << 14
    spark_blocks_at_once: int = 8
    # A table of the model up to this size goes whole to every executor; a larger one is shuffled.
    spark_broadcast_bytes: int = 256 * 2**20
    # Statements that run at the same time: a cluster has room beside a small one.
    spark_statements_at_once: int = 4
    # Rows of one source that a cluster numbers in one place.
    spark_piece_rows: int = 2**20
    # Seconds to wait until a server of Spark answers at all.
    spark_answer_seconds: float = 10.0
    # Rows of a CSV file that are looked at for the words of a column of truth values: as many as
    # the engine looks at to guess a type.
    csv_rows: int = 20_480
    # Bytes of a file that are looked at before the engine reads it.
    head_bytes: int = 1 << 16
    # Remote files that are asked about at a time, and seconds to wait for an answer.
    requests_at_once: int = 8
    answer_seconds: float = 10.0
    # Characters of a user's SQL that are parsed.
    sql_characters: int = 100_000

    # -- encoding ----------------------------------------------------------------------------

    # Up to so many categories are looked up by an expression, the others by a join: a join costs
    # the same 23 ms a million rows for any number, but dozens of them in one query cost far more.
    # Text is cast to an enumeration, 24 to 31 ms; other types need a CASE, 77 ms for 64 values.
    inline_categories: int = 1000
    inline_categories_not_text: int = 64
    # Past so many columns the values that codes are made of are computed in a projection of their
    # own: codes of 541 numbers and 132 categories are planned in 0.2 s instead of 1.0 s.
    inline_values: int = 32
    # Values of the target: more are no classes.
    most_classes: int = 1000
    # A column of whole numbers has categories where it has at most so many values; …
    categorical_integers: int = 32
    # … text and whole numbers of more values, and of more than this share of the rows, are names.
    identifier_values: int = 1000
    identifier_share: float = 0.9
    # Estimates of distinct values are trusted no closer than this to a limit.
    distinct_doubt: float = 0.25
    # Rows that cut points of equal frequency are taken from.
    quantile_rows: int = 100_000
    # Of up to so many rows the values of columns are sorted in arrays instead of a query a column.
    # Measured, mnist, 541 columns of 10,000 rows: queries 2.0 s, arrays 0.1 s.
    quantile_array_rows: int = 1 << 17
    # Past so many intervals, cuts are found by going through the values instead of the intervals.
    counted_bins: int = 1_000_000
    # From so many cells of equal frequency on an optimisation gains nothing by more of them.
    partition_cells: int = 100_000
    # So many there are however little memory there is.
    partition_cells_least: int = 1000
    # Counts of a window of cells that are evaluated at a time: 16 MB of intermediate numbers.
    partition_window: int = 1 << 21
    # Cells whose best partition is found exactly; more are merged down to so many first, this share
    # of the pairs a round, and the result is improved in at most so many rounds.
    exact_cells: int = 512
    merged_share: float = 0.5
    partition_rounds: int = 8
    # Class profiles that are grouped by trying every set of them (3^10 / 2 steps a group); more of
    # them are merged greedily up to so many profiles, the rarest pooled, down from so many groups.
    exact_profiles: int = 10
    separate_profiles: int = 800
    most_groups: int = 256
    # Sweeps of moves of one refinement; groupings that are only compared are refined until a sweep
    # saves less than this share; (profile, group, class) lookups of the exact moves: 0.3 s.
    grouping_sweeps: int = 100
    grouping_rough: float = 1e-4
    grouping_lookups: int = 30_000_000
    # The share of memory that the counts of one column by class may take; and what a value and a
    # class take in the engine's hash table, sorted, and fetched.
    value_class_share: float = 0.2
    value_class_bytes: int = 64

    # -- counts ------------------------------------------------------------------------------

    # Cells a block may have. Measured on 1 M rows, 5 values, 7 classes: six attributes (2^17
    # cells) 11 ms, seven (2^19) 30 ms: one more attribute costs more than the pairs it adds save.
    block_cells: int = 1 << 17
    # Few rows fill few cells, large arrays would be mostly zeros to sum: at most so many cells a
    # row, and at least these.
    block_cells_per_row: int = 8
    block_cells_least: int = 1 << 13
    # Summing pairs out of a block of very many tiny variables costs more than another scan.
    block_variables: int = 12
    # Families of up to so many cells are counted through an array; larger ones stay in the engine.
    array_cells: int = 1 << 21
    # Cells that are collected before they are inserted: a statement costs as much as 100,000 rows.
    inserted_together: int = 1 << 20
    # Arrays are kept for later steps up to this share of memory; else they are read again.
    kept_counts_share: float = 0.1
    # A row of the table of counts on disk: position, key, number.
    count_bytes: int = 20
    # Cells of pairs that are worth storing: 2^23 rows take about 60 MB in a store. More (hundreds
    # of attributes) are counted, used and dropped; an update then leaves the structure as it is.
    stored_margin_cells: int = 1 << 23
    # Dense blocks of up to so many rows are counted in arrays where that takes less than queries:
    # more are counted where the rows are, however quick arrays may be. Measured, one thread, 1 M
    # rows: six attributes of 5 values and a class of 7 (2^17 cells) 11.8 ms by a query, 2.7 of them
    # whatever the rows, 2.4 ms in arrays; five in a key of 32 bits 9.0 ms, of 16 bits (as it is)
    # 8.1, of pairs that are stored packed 6.3 ms; three pairs 8.4 ms. Seconds to read a code; of a
    # block, its row, a code of that row; and of a query, a cell of its table, a row, a code of it.
    array_rows: int = 1 << 17
    array_read_seconds: float = 1.2e-9
    array_block_seconds: float = 2e-4
    array_row_seconds: float = 1.1e-9
    array_key_seconds: float = 2e-10
    block_query_seconds: float = 5e-4
    block_query_cell_seconds: float = 1.7e-8
    block_query_row_seconds: float = 3.7e-9
    block_query_key_seconds: float = 8e-10
    # Keys that are made at a time, in the cache (2^14 to 2^20: 2.9, 2.7, 2.4, 2.5 ms a block), and
    # rows whose keys are counted at a time.
    array_key_rows: int = 1 << 17
    array_counted_rows: int = 1 << 20
    # The share of memory that codes or, where they are too many, the counts of a pass may take.
    array_share: float = 0.1
    # Families with too many cells for an array, too: of up to so many rows only the cells that rows
    # are in are counted in arrays. Measured, 736 families of 452 rows: queries 1.9 s, arrays 0.1 s.
    seen_array_rows: int = 1 << 17
    # Pairs of few rows are counted by products of matrices of zeros and ones, a line a value: of so
    # many values at a time, and so many ones and zeros (32 MB). Seconds a row and squared value,
    # and a class and squared value; and of a pair counted by queries, and of a row of it. Measured,
    # 2 cores, others working beside, CPU of products by one thread and of queries: 10,000 x 60 of 5
    # values 0.02 and 0.6 s, 100,000 x 60 0.2 and 1.2 s, 1 M x 40 1.0 and 1.0 s, 100,000 x 40 of 20
    # values 0.7 and 0.9 s.
    product_values: int = 1 << 9
    product_cells: int = 1 << 23
    product_row_seconds: float = 1.2e-11
    product_cell_seconds: float = 1e-8
    pair_query_seconds: float = 2e-4
    pair_query_row_seconds: float = 1e-9
    # The share of memory that all of it may take.
    product_share: float = 0.2

    # -- structure, search -------------------------------------------------------------------

    # Rows of the first scan of a search; each further scan brings twice as many, up to a share of
    # memory.
    stream_rows: int = 1 << 20
    stream_share: float = 0.05
    # Samples that one scan of all codes brings: the scan costs more than counting what it finds.
    samples_per_scan: int = 32
    # Rows by which it is seen how the values of two candidates go together, and cells of tables of
    # values that are kept for that; 2^22 take 32 MB.
    paired_rows: int = 2000
    paired_cells: int = 1 << 22
    # A look that the last one says is too early may be left out, until rows have grown so much.
    look_growth: float = 1.5
    # The share of memory that the counts of all candidates may take, and the bytes of a cell: its
    # count, three places of coarser cells, its gain.
    candidate_share: float = 0.25
    candidate_cell_bytes: int = 40
    # To stop is for good, while what loses to another addition may still be added next: stopping
    # needs more care. On 5 M rows of insurance 1 gives a mean log-likelihood 0.42 % below the true
    # structure's from 0.47 M rows, 3 gives 0.16 % from 0.79 M, 5 gives 0.11 % from 2.7 M.
    stopping_care: float = 3.0

    # -- models ------------------------------------------------------------------------------

    # Members of an ensemble: fewer of them are not tried for their own sake.
    members_least: int = 4
    # How much chance there is in the parents of further members: CMI times exp(this times a number
    # of Gumbel's distribution).
    parents_spread: float = 0.5
    # Intervals of a quantity in a further member of an ensemble, at least and at most: those of the
    # equal-frequency encodings that are tried.
    recut_bins: tuple[int, int] = (5, 20)
    # Rows, and rows times classes, by which an ensemble chooses the mean of its members.
    mean_rows: int = 50_000
    mean_values: int = 5_000_000
    # Joins, and joins times classes, of one scoring query; a larger model is scored in several.
    scoring_joins: int = 64
    scoring_lookups: int = 2000
    # Forms of a scoring query (`kinds/forms.py`), CPU seconds, codes of the rows included; measured
    # by tests/benchmarks/forms.py (20 to 150 attributes, 2 and 10 classes, 1,000 and 50,000 rows).
    # Wide, planning: a join, a class of it, a column that it carries; running: a join, a class.
    wide_plan_costs: tuple[float, float, float] = (1.5e-3, 1.5e-4, 5e-6)
    wide_row_costs: tuple[float, float] = (3e-8, 3.5e-9)
    # Long, planning: at all, a key, a class; running: a key, a class of it, a column of the rows.
    long_plan_costs: tuple[float, float, float] = (8e-3, 1.1e-3, 1.5e-3)
    long_row_costs: tuple[float, float, float] = (6e-8, 2.7e-9, 1e-8)
    # Where the wide form is planned in less than this, no other is looked for.
    form_worth_seconds: float = 0.1
    # Tables that one statement puts into the table of the long form.
    long_tables_at_once: int = 32
    # The same of each of these.
    step_joins: int = 32
    step_lookups: int = 1000
    # Estimates (row, class, attribute) up to which the cells of all rows are found at once where
    # leave-one-out is computed in arrays; of more rows some at a time. With 0 there are no arrays.
    loo_few_estimates: int = 1 << 21
    # Which form leave-one-out takes where it is not the quickest one: "wide", "long", "arrays".
    loo_form: str | None = None
    # What the forms cost, measured by `tests/benchmarks/loo_forms.py`: on DuckDB, on Spark.
    loo_costs: LooCosts = LooCosts(
        wide_plan=(3.9e-2, 0.0, 1.9e-5),
        wide_row=(0.0, 2.2e-9),
        long_plan=(9.9e-3, 4.1e-4, 1.2e-3),
        long_row=(0.0, 8.3e-8),
        array_plan=(1.6e-3, 2.8e-4),
        array_row=(5.9e-8, 6.6e-9),
    )
    spark_loo_costs: LooCosts = LooCosts(
        wide_plan=(3e0, 1e-2, 1e-3),
        wide_row=(1e-7, 5e-7),
        long_plan=(1e0, 1e-2, 1e-2),
        long_row=(6e-7, 2e-7),
        array_plan=(5e-1, 5e-3),
        array_row=(1e-7, 6e-9),
    )
    # In arrays keys are looked up in a table of at most so many numbers a key; larger ones are
    # sorted, which takes 4 times as long.
    loo_keys_per_row: int = 32
    # Classes past which the tables of chains are made in arrays (1,000: 0.2 s instead of 3 s a
    # table).
    chain_classes: int = 100
    # In plain SQL nobody switches the search for a join order off, and it explodes past about 30
    # inner joins (54: 18 s), and with fewer of many columns (20 of 450: minutes). Outer joins are
    # kept as written.
    inner_joins: int = 24
    # Log probabilities that a complete table of a factor may hold; past that, deep levels of
    # back-off hold only the cells that were seen and are joined one after the other. Complete
    # tables score faster (54 attributes, k = 5, 1 M rows: 4.7 s against 13.9 s), but should not
    # dwarf the data they come from: so many a row, and at least these.
    factor_values: int = 1 << 20
    factor_values_per_row: int = 2
    factor_values_least: int = 1 << 14
    # Keys and values of a fused table. Measured, 54 attributes, 7 classes, 1 M rows: tables of 6^4
    # keys 0.45 s, 6^3 0.67 s, 6^5 0.64 s, none fused 2.2 s.
    fused_keys: int = 1 << 11
    fused_values: int = 1 << 15
    # Averages: values of a table into which several attributes are fused. Measured, 54 attributes,
    # 7 classes, 100,000 rows: 1, 2, 3 attributes a table 6.3, 5.1, 5.5 s; three make it six times
    # as large.
    average_fused_values: int = 1 << 17
    # Values of a table that holds every key; past that, and where few keys were seen, only those
    # are.
    average_complete_values: int = 1 << 21
    complete_per_seen: int = 3
    # Keys of super-parents up to which there is a row for each, seen or not.
    average_gapless_keys: int = 1 << 18
    # Averages in arrays: the share of memory that the arrays of the tables may take; rows that are
    # scored at a time, numbers of a block of them and of a super-parent's table of several
    # children (both stay in the cache).
    average_array_share: float = 0.25
    average_array_rows: int = 1 << 16
    average_block_values: int = 1 << 15
    average_table_values: int = 1 << 13
    # Rows for which a key of such a table is worth computing; keys of a table that is mostly empty
    # and yet worth making for a row; rows that ignore the same attributes and are worth a model of
    # their own: with subsumption resolution, ns a row, of 1,024, 4,096 rows and never: covtype
    # 1990, 2003, 2968, connect-4 (1,415 sets that are ignored) 7820, 4415, 3372.
    average_rows_per_key: int = 4
    average_cells_per_row: int = 4
    average_pattern_rows: int = 1 << 12
    # Seconds of a core for a row, super-parent, child and class. Measured on a busy machine: 1 M
    # rows x 54 attributes of 5 values, 7 classes, a1de 9 s (4.4e-10), 100,000 of them a2de 32 s
    # (5.8e-10). `fit --dry-run` says what so many rows take, and what to do if it is long.
    average_term_seconds: float = 5e-10
    average_outlook_rows: int = 100_000
    average_outlook_seconds: float = 60.0
    # Values that may be implied whose bits are looked up together, and keys of a table of them.
    average_implied_bits: int = 256
    average_implied_keys: int = 1 << 10
    # How far from the middle a product of factors may go (e^600); past that logarithms are added.
    average_product_safe: float = 600.0
    # Keys of one super-parent up to which its values are looked up in an array.
    average_array_keys: int = 1 << 22
    # Collections: values of a table into which the parents of several terms are fused. Measured
    # with tc, tables of 2^16, 2^17, 2^18 and 2^19 values: 19 binary attributes, 1 M rows 1.96,
    # 1.94, 1.79, 1.69 s; adult 0.58, 0.40, 0.37, 0.64 s.
    collection_fused_values: int = 1 << 18
    # Values of a table that holds every key of a single parent set, as for averages.
    collection_complete_values: int = 1 << 21
    # Values of all children that have numbers: past that the largest go without.
    collection_numbered_values: int = 1 << 18
    # Tables joined in a turn; what is left comes in further turns of the same child.
    collection_tables: int = 56
    # Rows times classes up to which super-parents are tried in arrays. Measured against queries, on
    # a busy machine: adult 1.3 and 2.0 s, mushroom 1.1 and 4.6 s, audiology (69 attributes) 36 and
    # 255 s. And the share of memory for terms that several super-parents have in common.
    superparent_array_values: int = 1 << 18
    superparent_terms_share: float = 0.1
    # Leave-one-out: values a table may have to be made by arrays and to hold every key. A join with
    # a table without gaps hands the rows on untouched (measured: 1 M rows, k' = 3, 54 joins: 3.0 s
    # against 5.9 s).
    loo_dense_values: int = 1 << 21
    loo_dense_values_least: int = 1 << 15
    # Cells of one level that the strength of hierarchical smoothing is found from: it is one
    # number, and more cells cost as much again as counting them.
    strength_cells: int = 200_000
    # Numbers of cells times strengths that are tried together: the calls of few cells take longer
    # than their arithmetic (60 cells, ten strengths: 40 us one by one, 8 us together).
    strength_block: int = 1 << 14
    # Rows that the weights of attributes and levels are fitted on: there are few weights. What each
    # level says of each class of a row is held at once: so many numbers, and a share of memory.
    weight_rows: int = 100_000
    # Rows that a selection leaves out in turn where the user names no learner: the losses of nested
    # models differ by more than so many rows leave open.
    effort_rows: int = 100_000
    # Fewer rows than this say too little to choose anything by.
    choice_rows: int = 50
    weight_values: int = 1 << 26
    # Of these so many say which weights help, and so many those of one product; 2^25 take some 3 s.
    weight_compared_values: int = 1 << 23
    weight_fitted_values: int = 1 << 25
    weight_share: float = 0.05
    # How strongly weights are pulled towards the plain product: as so many rows would.
    weight_pull: float = 2.0
    # Numbers of one block of these rows: they stay in the cache for two looks at them (adult, 2^16
    # to 2^19: 1.9, 1.5, 1.2, 1.3 s).
    weight_block: int = 1 << 18
    # In so many units, which threads share, the rows are added up.
    weight_units: int = 16
    loo_dense_cells_per_row: int = 4
    # Past this share of the memory limit the tables of one k' go to scratch files.
    loo_tables_share: float = 0.2
    # Attributes between two projections (measured: 54 attributes, 1 to 6 a step are within 20 %,
    # planning included).
    loo_step: int = 3
    # Bounds on |ln ratio| that a batch may add up to: its products then neither over- nor
    # underflow. A later batch starts from ratios divided by the largest, so it may go as far as
    # e^320 up or down.
    loo_first_bound: float = 650.0
    loo_bound: float = 320.0
    # Estimates (row, class, attribute) that are kept from one k' to the next in arrays: with their
    # logarithms 128 MB. A part of the rows that encodings are tried on has half as many.
    loo_array_estimates: int = 1 << 23
    # What a cell takes for every row, attribute and k'; and the share of the memory for all.
    loo_array_cell_bytes: int = 48
    loo_array_share: float = 0.4
    # Rows times classes of a chunk whose codes are looked up in the stored counts, and what the
    # code of a row and attribute takes.
    loo_chunk_values: int = 1 << 20
    loo_code_bytes: int = 4
    # In arrays an estimate (row, class, attribute, k') takes about this, and so many about a
    # minute.
    loo_estimate_seconds: float = 6e-9
    loo_estimates_warned: int = 10_000_000_000
    # The slice that is timed before the pass: long enough to be told from the fixed cost of a
    # query. What a parent more costs was measured once, 1 M rows x 54, 7 classes: k' = 0 2.0 s,
    # k' = 3 2.7 s, k' = 5 4.0 s.
    loo_slice_rows: int = 50_000
    loo_dearer_per_parent: float = 0.2
    # Numbers of parents that are tried though no attribute can have as many.
    loo_tried_parents: int = 16
    # Race of nested models: rows of the first part. 1 M rows x 54, 7 classes, all parts and the
    # last pass, seconds of a core: first parts of 4,096 to 32,768 rows 3.2, 2.7, 2.5, 3.1 s. Rows
    # of fewer first parts than this do not race: connect-4 (4.1 of them) takes 0.4 of the time.
    race_rows: int = 1 << 14
    race_least_parts: int = 4
    # Where all models take less than this in arrays they do not race, but are evaluated there.
    race_least_seconds: float = 1.0
    # Losses (row, model) that are kept of the models that are left: 2^25 take 256 MB.
    race_values: int = 1 << 25
    # What a row of a part costs for an attribute, and a loss, in those of the queries over all
    # rows: 65,536 rows of two k' 0.33 s of a core, 1 M rows of one k' 1.06 s. And what a cell of
    # the counts costs that is looked through for a part: 844,000 of them 0.2 s.
    race_dearer: float = 2.0
    race_cell: float = 14.0
    # The share of memory that the levels of the chains at work may take.
    race_share: float = 0.2
    # Leave-one-out of averages: values of a table that holds every key; past that only the keys
    # that rows have. Logarithms that may be summed up without looking for the largest first. The
    # share of memory that the sums of a chunk of rows may take, and its least rows.
    average_loo_values: int = 1 << 21
    average_loo_safe: float = 600.0
    average_loo_share: float = 0.2
    average_loo_rows: int = 10_000
    # Attribute weights: rows of a chunk, and their ratios, one a row and other class (4 MB): both
    # stay in the cache. One class after the other: 581,012 rows, 7 classes, CPU time of a trial 21
    # ms with a row a row, 10 ms with a row a class.
    weights_block_rows: int = 1 << 13
    weights_block_values: int = 1 << 19
    # The share of memory that chunks may take, further ones lie on disk; and how many rows are
    # worth finding the distinct ones of.
    weights_held_share: float = 0.25
    weights_grouped_rows: int = 10_000

    # Pairs of features of long input: cells of their table, all codes squared by class (2^24 are
    # 134 MB); pairs of cells that rows have; cells of the rows that are joined with themselves at a
    # time, which is what the join holds.
    sparse_pair_cells: int = 1 << 24
    sparse_pair_load: int = 1 << 29
    sparse_part_cells: int = 1 << 22

    # -- store, updates ----------------------------------------------------------------------

    # Rows of a stream that are read at once, however large a batch is.
    prequential_rows: int = 1_000_000
    # Columns of views and lookup tables with a comment in a store. One takes 0.1 ms, but in a table
    # of 1,000 columns 0.8 ms (the engine copies the table's description every time).
    stored_comments: int = 500
    # Bytes of a block of a new store. A model is dozens to hundreds of tables, and each takes some
    # blocks: with the engine's usual 256 KB a model of 151 rows takes 8.9 MB, with these 1.4 (with
    # 64 KB 2.8); one of adult 30 and 14 MB.
    store_block_bytes: int = 16384
    # How long to wait for another process that has the store open, in seconds: it holds the file
    # for a moment only. Before the work less, for a reader may stay for hours; after it longer, for
    # the work is at stake.
    store_patience: float = 10.0
    store_patience_before: float = 3.0
    store_patience_after: float = 60.0
    # A wait of more than this is said; the file is tried again so often.
    store_wait_unsaid: float = 1.0
    store_retry: float = 0.2
    # Joins and lookups of the macro `predict`, which has one query only: past that it refuses. 200
    # joins of 2 classes are planned in 17 s, 20 of 1,000 in 4 s. The long form is one join.
    macro_joins: int = 250
    # Rows for which the form of the macro is chosen: nobody knows to how many it will be applied.
    macro_rows: int = 10_000
    macro_lookups: int = 30_000

    # -- evaluation, networks, export --------------------------------------------------------

    # Rows of every data set of a quick bench.
    bench_quick_rows: int = 1000

    # Automatic encoding tries all candidates on one of so many parts of the rows, and on halves of
    # it: five of them then cost less than one fit of all rows. Parts have at least `trial_rows`,
    # where the order of encodings is no longer that of the noise; all rows are tried where they are
    # less than twice that, and none where they are fewer than `trial_fewest`.
    trial_parts: int = 16
    trial_rows: int = 10_000
    trial_fewest: int = 50
    # A second encoding is fitted on all rows if its loss is expected to be smaller by this share.
    trial_worth: float = 0.01
    # Past this many classes the engine takes longer to plan scores and losses in one query than to
    # write the scores down first (DuckDB 2.0: 11 classes 0.25 s, 26 2.5 s, 51 10 s; apart 0.1 s).
    loss_classes: int = 8
    # Pieces of one unit of log odds in which AUC orders rows: a task sees some of them.
    ranking_pieces: int = 16
    # Blocks that a ranking by a bound copies out of the data at first; where they do not settle it,
    # all rows are read.
    ranking_blocks: int = 32
    # Shuffled numbers of one piece of rows when folds are made.
    fold_piece: int = 2**22
    # Rows that are held out of every training set of a repeat: a tenth, but no more than this.
    curve_test_rows: int = 100_000
    # Numbers of a table of a network, of one that inference makes on the way (2^26 are half a
    # gigabyte), and of a random network: all 18 parents of 19 binary attributes are possible; all
    # tables, or pairs of attributes that an edge may join, of a random network.
    network_cells: int = 2**27
    inference_cells: int = 2**26
    random_table_cells: int = 2**20
    random_cells: int = 2**24
    # Bytes of a BIF file, unpacked: the largest network of the public collections has some 10 MB.
    bif_bytes: int = 1_000_000_000
    # One thread writes rows of a network, the others draw: more than a few would wait for it.
    sampling_threads: int = 4
    # The share of memory that the codes of a window may take.
    window_share: float = 0.2
    # Rows and characters of one INSERT: SQL Server takes 1,000 rows, BigQuery a megabyte.
    insert_rows: int = 1000
    insert_characters: int = 1 << 18


def in_blocks(items: Sequence[T], most: int) -> list[Sequence[T]]:
    """The items in order, at most so many at once; as even as may be."""
    n = len(items)
    blocks = -(-n // most)
    return [items[n * b // blocks : n * (b + 1) // blocks] for b in range(blocks)]


def added(terms: Sequence[str], most: int = Limits.sum_terms) -> str:
    """The sum of some expressions; a sum of sums where they are many."""
    if len(terms) <= most:
        return " + ".join(terms)
    return added([f"({' + '.join(block)})" for block in in_blocks(terms, most)], most)
