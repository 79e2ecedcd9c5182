-- What views call is parsed now: a reader's session may find other functions by these names, and read strings in another way.

create or replace function ops.percent_decoded(text) returns text immutable parallel safe strict
  begin atomic select case when strpos($1, '%') = 0 then $1 else (
    select string_agg(
      case
        when part like '\%__%' then convert_from(decode(replace(part, '%', ''), 'hex'), 'UTF8')
        else part
      end,
      '' order by place
    )
    -- Escapes of whole UTF-8 characters, of one to four bytes; or text without escapes; or a percent sign.
    from regexp_matches($1, '('
      || '(?:%(?:0[1-9a-fA-F]|[1-7][0-9a-fA-F])'
      || '|%(?:[cC][2-9a-fA-F]|[dD][0-9a-fA-F])%[89abAB][0-9a-fA-F]'
      || '|%(?:[eE]0%[abAB]|[eE][1-9abcefABCEF]%[89abAB]|[eE][dD]%[89])[0-9a-fA-F]%[89abAB][0-9a-fA-F]'
      || '|%(?:[fF]0%[9abAB]|[fF][1-3]%[89abAB]|[fF]4%8)[0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){2})+'
      || '|[^%]+|%)', 'g') with ordinality m (parts, place)
    cross join lateral (select parts[1] as part) p
  ) end;
end;
