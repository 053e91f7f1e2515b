{# What a store's tables, views, columns and macro are for. #}
{% for comment in comments %}
COMMENT ON {{ comment.kind }} {{ comment.name }} IS {{ comment.text | lit }};
{% endfor %}
