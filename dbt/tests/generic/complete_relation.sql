{# Every row whose columns are not null finds a row of `to` whose key equals them. Each side is read once. #}
{% test complete_relation(model, columns, to, key) %}
select {{ columns | join(', ') }}
from {{ model }}
where {% for column in columns %}{{ ' and ' if not loop.first }}{{ column }} is not null{% endfor %}
except
select {{ key | join(', ') }}
from {{ to }}
{% endtest %}
