{# Scored rows with their ids under the name that these have. #}
SELECT r AS {{ row }}, {{ scores }} FROM ({{ scored }})
