{# Every row whose columns are not null finds a row of `to` whose key equals them. #}
{% test complete_relation(model, columns, to, key) %}
select *
from {{ model }} f
where {% for column in columns %}f.{{ column }} is not null and {% endfor %}not exists (
  select 1 from {{ to }} t
  where {% for column in columns %}{{ ' and ' if not loop.first }}t.{{ key[loop.index0] }} = f.{{ column }}{% endfor %}
)
{% endtest %}
