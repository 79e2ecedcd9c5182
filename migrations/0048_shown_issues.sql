-- Who is shown: tracker.shown_issues and what counts hidden issues ask this function.
create function ops.shows_level(level text, level_id bigint) returns boolean immutable parallel safe
  return (level is null and level_id is null) or ops.shows_restricted_issues();
comment on function ops.shows_level(text, bigint) is 'True where bi shows issues of a security level, given by name and id: those without one, or all (ops.shows_restricted_issues).';

create function ops.is_issue_key(words text) returns boolean immutable parallel safe
  return words ~ '^[A-Z][A-Z0-9_]+-[0-9]+$';
comment on function ops.is_issue_key(text) is 'True for a text that is an issue key as a whole, whether there is such an issue or not.';

-- A column for a link to an epic or to a parent is null where bi does not show the issue that it names.
alter function ops.column_expression(text, text, smallint) rename to shown_column_expression;
create function ops.column_expression(kind text, field_id text, source_id smallint) returns text
  language plpgsql stable as $outer$
begin
  return case
    when exists (
      select
      from tracker.fields f
      where f.source_id = $3 and f.id = $2
        and f.schema_custom in ('com.pyxis.greenhopper.jira:gh-epic-link', 'com.atlassian.jpo:jpo-custom-field-parent')
    ) then format(
      $$case when not exists (
        select from tracker.hidden_keys k
        where k.source_id = %2$s
          and k.key = coalesce(
            t.custom_fields #>> '{%1$s,key}', t.custom_fields #>> '{%1$s,data,key}', t.custom_fields ->> '%1$s'
          )
      ) then %3$s end$$,
      $2, $3, ops.shown_column_expression($1, $2, $3)
    )
    else ops.shown_column_expression($1, $2, $3)
  end;
end
$outer$;
comment on function ops.column_expression(text, text, smallint) is 'The SQL of a column for a custom field, with t for tracker.issues.';
