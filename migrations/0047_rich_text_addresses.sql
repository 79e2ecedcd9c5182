-- Rich text in custom fields keeps addresses and labels as the descriptions of issues do: links behind words, smart
-- links, macros, media, mentions without a name, dates.
create or replace function ops.element_text(value jsonb) returns text immutable parallel safe
  begin atomic select case
    when jsonb_typeof(value) <> 'object' then value #>> '{}'
    when jsonb_typeof(value -> 'content') = 'array' then (
      select trim(E'\n' from regexp_replace(string_agg(
        case
          when node ->> 'type' in (
            'paragraph', 'heading', 'hardBreak', 'codeBlock', 'blockCard', 'embedCard', 'mediaSingle', 'mediaGroup',
            'extension', 'bodiedExtension', 'expand', 'tableRow', 'taskItem', 'decisionItem'
          ) then E'\n'
          when node ->> 'type' = 'mention' and not node -> 'attrs' ? 'text' then '@' || (node -> 'attrs' ->> 'id')
          when node ->> 'type' = 'date' and node -> 'attrs' ->> 'timestamp' ~ '^[0-9]{1,14}$'
            then (date '1970-01-01' + ((node -> 'attrs' ->> 'timestamp')::bigint / 86400000)::integer)::text
          -- Of a text its link; of attributes what they say: `$.**` comes to both.
          else concat_ws(
            ' ', node ->> 'title', coalesce(node ->> 'text', node ->> 'shortName'), node ->> 'name', node ->> 'alt',
            node ->> 'url',
            '(' || nullif(
              jsonb_path_query_first(node, 'strict $.marks[*] ? (@.type == "link").attrs.href', '{}', true) #>> '{}',
              node ->> 'text'
            ) || ')'
          )
        end, ''
      ), E'\n+', E'\n', 'g'))
      from jsonb_path_query(value, 'strict $.**') node
      where jsonb_typeof(node) = 'object'
    )
    else coalesce(value ->> 'name', value ->> 'displayName', value ->> 'value', value ->> 'title', value::text)
  end;
end;
comment on function ops.element_text(jsonb) is 'One value of a custom field as people read it: the name of an object, the text of a document, else the JSON.';
