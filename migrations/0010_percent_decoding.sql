-- Addresses as people read them: views show the parts of click-through URLs decoded.

create function ops.percent_decoded(text) returns text immutable parallel safe strict
  language sql as $$
  select case when strpos($1, '%') = 0 then $1 else (
    select string_agg(
      case
        when part like '\%__%' then convert_from(decode(replace(part, '%', ''), 'hex'), 'UTF8')
        else part
      end,
      '' order by place
    )
    -- Escapes of whole UTF-8 characters, of one to four bytes; or text without escapes; or a percent sign.
    from regexp_matches($1, '(?i)('
      || '(?:%(?:0[1-9a-f]|[1-7][0-9a-f])'
      || '|%(?:c[2-9a-f]|d[0-9a-f])%[89ab][0-9a-f]'
      || '|%(?:e0%[ab]|e[1-9abcef]%[89ab]|ed%[89])[0-9a-f]%[89ab][0-9a-f]'
      || '|%(?:f0%[9ab]|f[1-3]%[89ab]|f4%8)[0-9a-f](?:%[89ab][0-9a-f]){2})+'
      || '|[^%]+|%)', 'g') with ordinality m (parts, place)
    cross join lateral (select parts[1] as part) p
  ) end
  $$;
comment on function ops.percent_decoded(text) is 'The text with %20 and the like replaced by their characters (UTF-8). What is no escape of one stays as it is.';
