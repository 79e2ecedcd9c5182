{# Rows whose columns are unique together, and not null but for the nullable ones. #}
{% test unique_key(model, columns, nullable=[]) %}
select {{ columns | join(', ') }}, count(*) as found
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1
  {%- for column in columns if column not in nullable %} or {{ column }} is null{% endfor %}
{% endtest %}
