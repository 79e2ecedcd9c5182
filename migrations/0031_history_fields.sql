-- Custom fields whose history bi.issue_field_history shows.

create table ref.history_fields (
  source text not null,
  field_id text not null,
  field_name text not null
    check (field_name not in ('status', 'assignee', 'priority', 'story_points', 'sprint', 'fix_versions')),
  primary key (source, field_id),
  unique (source, field_name)
);
comment on table ref.history_fields is 'Custom fields whose history bi.issue_field_history shows, one row each.';
comment on column ref.history_fields.source is 'Name of the source, see ops.sources.name.';
comment on column ref.history_fields.field_id is 'Field id, see tracker.fields.id, e.g. customfield_10050.';
comment on column ref.history_fields.field_name is 'What bi.issue_field_history.field_name calls it.';
