{# Codes of single attributes that some row has, by the attribute's position. #}
SELECT DISTINCT position, key::BIGINT // {{ classes }} AS code
FROM {{ margins }}
WHERE position IN ({{ positions }}) AND n > 0
