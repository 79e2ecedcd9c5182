create or replace view tracker.list_value_stays as
select
  y.source_id,
  y.issue_id,
  y.issue_key,
  y.project_id,
  y.project_key,
  y.field_name,
  y.value_id,
  coalesce(y.name_now, y.value_text) as value_text,
  -- What the issue has now and no change brought, and what the first change takes away, was there from the start.
  case when y.turn = 1 and (y.is_present or not y.is_in) then y.created_at else y.happened_at end as valid_from,
  case
    when not y.is_in then y.happened_at
    -- No change took it away, but the issue no longer has it: it went before the issue was last read.
    when y.next_at is null and not y.is_now then y.updated_at
    else y.next_at
  end as valid_to
from (
  select
    x.*,
    row_number() over turns as turn,
    lead(x.happened_at) over turns as next_at
  from (
    select
      e.*,
      lag(e.is_in) over events as was_in,
      bool_or(e.is_present) over whole as is_now,
      max(e.name) over whole as name_now
    from (
      select
        i.source_id,
        i.id as issue_id,
        i.key as issue_key,
        i.project_id,
        p.key as project_key,
        i.created_at,
        i.updated_at,
        h.field_name,
        part.value_id,
        part.value_text,
        null as name,
        c.changed_at as happened_at,
        c.history_id,
        c.item,
        part.is_in,
        false as is_present
      from tracker.shown_issues i
      join tracker.issue_changelog c on c.source_id = i.source_id and c.issue_id = i.id
      join tracker.followed_fields h on h.source_id = c.source_id and h.field_id = c.field_id and h.is_list
      left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
      cross join lateral (
        select
          string_to_array(nullif(replace(c.from_id, ' ', ''), ''), ',') as gone,
          string_to_array(nullif(replace(c.to_id, ' ', ''), ''), ',') as came
      ) list
      cross join lateral (
        select value_id, case when cardinality(list.came) = 1 then c.to_text end as value_text, true as is_in
        from unnest(list.came) value_id
        where value_id <> all (coalesce(list.gone, '{}'))
        union all
        select value_id, case when cardinality(list.gone) = 1 then c.from_text end, false
        from unnest(list.gone) value_id
        where value_id <> all (coalesce(list.came, '{}'))
      ) part
      union all
      select
        i.source_id,
        i.id,
        i.key,
        i.project_id,
        p.key,
        i.created_at,
        i.updated_at,
        'sprint',
        n.sprint_id::text,
        null,
        n.name,
        i.updated_at,
        null,
        null,
        true,
        true
      from tracker.shown_issues i
      join (
        select source_id, issue_id, sprint_id, name from tracker.issue_sprints
        union all
        select source_id, issue_id, sprint_id, null from tracker.sprint_issues
      ) n on n.source_id = i.source_id and n.issue_id = i.id
      left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
      union all
      select
        i.source_id,
        i.id,
        i.key,
        i.project_id,
        p.key,
        i.created_at,
        i.updated_at,
        'fix_versions',
        n.version_id::text,
        null,
        n.name,
        i.updated_at,
        null,
        null,
        true,
        true
      from tracker.shown_issues i
      join tracker.issue_versions n on n.source_id = i.source_id and n.issue_id = i.id and n.kind = 'fix'
      left join tracker.projects p on p.source_id = i.source_id and p.id = i.project_id
    ) e
    window
      whole as (
        partition by e.source_id, e.issue_id, e.issue_key, e.project_key, e.field_name, e.value_id
      ),
      events as (whole order by e.is_present, e.happened_at, e.history_id, e.item)
  ) x
  where x.is_in is distinct from x.was_in
  window turns as (
    partition by x.source_id,
    x.issue_id,
    x.issue_key,
    x.project_key,
    x.field_name,
    x.value_id order by x.is_present,
    x.happened_at,
    x.history_id,
    x.item
  )
) y
where y.is_in or y.turn = 1;

comment on view tracker.list_value_stays is 'How long issues had each of their sprints and fix versions, from the changelog and what they have now; one row per shown issue, field, value and interval. What bi.issue_field_history is made of.';
comment on column tracker.list_value_stays.source_id is 'The source, see ops.sources.';
comment on column tracker.list_value_stays.issue_id is 'Issue id.';
comment on column tracker.list_value_stays.issue_key is 'Issue key of today.';
comment on column tracker.list_value_stays.project_id is 'Project of today.';
comment on column tracker.list_value_stays.project_key is 'Its key; null if the project is not known.';
comment on column tracker.list_value_stays.field_name is 'sprint or fix_versions.';
comment on column tracker.list_value_stays.value_id is 'Id of the sprint or version.';
comment on column tracker.list_value_stays.value_text is 'Its name where the issue has it now, else at the time of the change; null if several came at once.';
comment on column tracker.list_value_stays.valid_from is 'Since when the issue had it (UTC).';
comment on column tracker.list_value_stays.valid_to is 'Until when (UTC), exclusive; null while it has it.';
