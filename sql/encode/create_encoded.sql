{# The encoding pass for people who run it themselves. #}
CREATE TABLE encoded AS
{{ rows }}
