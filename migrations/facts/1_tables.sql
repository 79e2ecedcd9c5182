-- Stored facts of the tracker: what follows from issues and their history, kept by triggers in the transaction
-- of each write (6_triggers.sql). They hold the issues that bi shows (tracker.shown_issues, which asks
-- ops.shows_restricted_issues) and no others; days are those of ops.reporting_time_zone. When such a setting
-- changes, and for `tidemark derive --all`, all of them are made anew (rebuild.sql).
-- A column that a later version needs is added by `alter table … add column if not exists`, at the end.

create table if not exists tracker.issue_status_intervals (
  source_id smallint not null,
  issue_id bigint not null,
  sequence integer not null,
  project_id bigint not null,
  status_ref text,
  status_text text,
  category text not null,
  previous_category text,
  entered_at timestamptz not null,
  left_at timestamptz,
  entered_by text,
  entered_date date not null,
  left_date date,
  is_inferred boolean not null default false,
  primary key (source_id, issue_id, sequence)
);
create index if not exists issue_status_intervals_inferred
  on tracker.issue_status_intervals (source_id, issue_id) where is_inferred;
comment on table tracker.issue_status_intervals is 'Stays of issues in a status, from the changelog; the last is in the status of the issue; one row per issue and stay.';
comment on column tracker.issue_status_intervals.source_id is 'The source, see ops.sources.';
comment on column tracker.issue_status_intervals.issue_id is 'The issue, see tracker.issues.id.';
comment on column tracker.issue_status_intervals.sequence is 'Place of the stay in the history of the issue, from 0.';
comment on column tracker.issue_status_intervals.project_id is 'The project the issue is in today: the one that tracker.flow_daily counts it in.';
comment on column tracker.issue_status_intervals.status_ref is 'Status id as the changelog has it, see tracker.statuses.id; null: not known.';
comment on column tracker.issue_status_intervals.status_text is 'Name of the status when it was entered; null where no change names it.';
comment on column tracker.issue_status_intervals.category is 'todo, in_progress, done or unknown, as the status means today.';
comment on column tracker.issue_status_intervals.previous_category is 'Category of the stay before; null for the first.';
comment on column tracker.issue_status_intervals.entered_at is 'When the issue entered the status (UTC).';
comment on column tracker.issue_status_intervals.left_at is 'When it left the status (UTC); null: it has not.';
comment on column tracker.issue_status_intervals.entered_by is 'Who moved it there, see tracker.users.id.';
comment on column tracker.issue_status_intervals.entered_date is 'Day of entered_at, not before that of the creation.';
comment on column tracker.issue_status_intervals.left_date is 'Day of left_at, not before that of the creation.';
comment on column tracker.issue_status_intervals.is_inferred is 'True where no change says so: the changes end with another status than that of the issue, or one names a status without an id.';

create table if not exists tracker.issue_facts (
  source_id smallint not null,
  issue_id bigint not null,
  first_assigned_at timestamptz,
  first_started_at timestamptz,
  first_done_at timestamptz,
  last_done_at timestamptz,
  is_done boolean not null,
  current_category text not null,
  current_since timestamptz not null,
  todo_seconds numeric not null,
  in_progress_seconds numeric not null,
  status_changes integer not null,
  reopen_count integer not null,
  assignee_changes integer not null,
  priority_changes integer not null,
  comment_count integer not null,
  last_comment_at timestamptz,
  first_response_at timestamptz,
  began_at timestamptz,
  unjoined_changes integer not null default 0,
  primary key (source_id, issue_id)
);
create index if not exists issue_facts_unjoined on tracker.issue_facts (source_id, issue_id) where unjoined_changes > 0;
comment on table tracker.issue_facts is 'What follows from the history of an issue, one row per issue.';
comment on column tracker.issue_facts.source_id is 'The source, see ops.sources.';
comment on column tracker.issue_facts.issue_id is 'The issue, see tracker.issues.id.';
comment on column tracker.issue_facts.first_assigned_at is 'When it was assigned for the first time (UTC); null: never.';
comment on column tracker.issue_facts.first_started_at is 'When it was first in progress (UTC); null: never.';
comment on column tracker.issue_facts.first_done_at is 'When it was first done (UTC); null: never.';
comment on column tracker.issue_facts.last_done_at is 'When it last became done (UTC), also where it was reopened since; null: never.';
comment on column tracker.issue_facts.is_done is 'True when it is done now.';
comment on column tracker.issue_facts.current_category is 'Category of its status now.';
comment on column tracker.issue_facts.current_since is 'When it entered its status of now (UTC).';
comment on column tracker.issue_facts.todo_seconds is 'Seconds of its ended stays in category todo.';
comment on column tracker.issue_facts.in_progress_seconds is 'Seconds of its ended stays in category in_progress.';
comment on column tracker.issue_facts.status_changes is 'How often its status changed.';
comment on column tracker.issue_facts.reopen_count is 'How often it was done and then no longer.';
comment on column tracker.issue_facts.assignee_changes is 'How often its assignee changed.';
comment on column tracker.issue_facts.priority_changes is 'How often its priority changed.';
comment on column tracker.issue_facts.comment_count is 'Live comments.';
comment on column tracker.issue_facts.first_response_at is 'When the first live comment of anyone but the reporter was written (UTC); at a service desk, that the customer sees; null: none.';
comment on column tracker.issue_facts.last_comment_at is 'When the last live comment was written (UTC); null: none.';
comment on column tracker.issue_facts.began_at is 'When it was created, or its first followed change where that is older (UTC): imported histories may be older than their issue.';
comment on column tracker.issue_facts.unjoined_changes is 'Followed changes that do not begin with the value that the change before ended with.';

create table if not exists tracker.flow_daily (
  source_id smallint not null,
  project_id bigint not null,
  category text not null,
  date_day date not null,
  change integer not null,
  primary key (source_id, project_id, category, date_day)
);
comment on table tracker.flow_daily is 'By how much the number of issues in a status category changed; one row per project, category and day with a change.';
comment on column tracker.flow_daily.source_id is 'The source, see ops.sources.';
comment on column tracker.flow_daily.project_id is 'The project the issues are in today, see tracker.projects.id.';
comment on column tracker.flow_daily.category is 'todo, in_progress, done or unknown.';
comment on column tracker.flow_daily.date_day is 'The day.';
comment on column tracker.flow_daily.change is 'Issues that entered the category on the day less those that left it; never 0.';

create table if not exists tracker.sprint_issue_facts (
  source_id smallint not null,
  issue_id bigint not null,
  sprint_id bigint not null,
  added_at timestamptz not null,
  removed_at timestamptz,
  is_committed boolean not null,
  is_added boolean not null,
  is_in_at_end boolean not null,
  category_at_end text not null,
  points_in numeric(18, 4),
  points_out numeric(18, 4),
  primary key (source_id, issue_id, sprint_id)
);
create index if not exists sprint_issue_facts_sprint on tracker.sprint_issue_facts (source_id, sprint_id);
comment on table tracker.sprint_issue_facts is 'How an issue fared in a sprint; one row per issue and sprint that it is or was in.';
comment on column tracker.sprint_issue_facts.source_id is 'The source, see ops.sources.';
comment on column tracker.sprint_issue_facts.issue_id is 'The issue, see tracker.issues.id.';
comment on column tracker.sprint_issue_facts.sprint_id is 'The sprint, see tracker.sprints.id; the warehouse may not know it.';
comment on column tracker.sprint_issue_facts.added_at is 'When it first came into the sprint (UTC); if no change is recorded, when the issue was created.';
comment on column tracker.sprint_issue_facts.removed_at is 'When it last left the sprint (UTC); null while it is in it.';
comment on column tracker.sprint_issue_facts.is_committed is 'True when it was in the sprint at its start.';
comment on column tracker.sprint_issue_facts.is_added is 'True when it came after the start and before the end, and was not committed.';
comment on column tracker.sprint_issue_facts.is_in_at_end is 'True when it was in the sprint at its end; of an open sprint, now.';
comment on column tracker.sprint_issue_facts.category_at_end is 'Status category at the end of the sprint; of an open sprint, now.';
comment on column tracker.sprint_issue_facts.points_in is 'Story points when it was committed or added; null: not estimated then, or neither.';
comment on column tracker.sprint_issue_facts.points_out is 'Story points at the end of the sprint, or when it was removed; of an open sprint, now.';

create table if not exists tracker.sprint_burndown_changes (
  source_id smallint not null,
  issue_id bigint not null,
  sprint_id bigint not null,
  date_day date not null,
  scope_issues integer not null,
  scope_points numeric(18, 4) not null,
  remaining_issues integer not null,
  remaining_points numeric(18, 4) not null,
  primary key (source_id, issue_id, sprint_id, date_day)
);
create index if not exists sprint_burndown_changes_sprint on tracker.sprint_burndown_changes (source_id, sprint_id);
comment on table tracker.sprint_burndown_changes is 'By how much an issue changed the scope and the remaining work of a started sprint; one row per issue, sprint and day with a change. What was before the start counts on its day.';
comment on column tracker.sprint_burndown_changes.source_id is 'The source, see ops.sources.';
comment on column tracker.sprint_burndown_changes.issue_id is 'The issue, see tracker.issues.id.';
comment on column tracker.sprint_burndown_changes.sprint_id is 'The sprint, see tracker.sprints.id.';
comment on column tracker.sprint_burndown_changes.date_day is 'The day.';
comment on column tracker.sprint_burndown_changes.scope_issues is '1: it came into the sprint; -1: it left it.';
comment on column tracker.sprint_burndown_changes.scope_points is 'Story points that came with it, left with it, or were estimated anew.';
comment on column tracker.sprint_burndown_changes.remaining_issues is 'The same of issues that are not done.';
comment on column tracker.sprint_burndown_changes.remaining_points is 'The same of issues that are not done.';

create table if not exists tracker.issue_value_intervals (
  source_id smallint not null,
  issue_id bigint not null,
  field_name text not null,
  field_id text,
  value_id text,
  value_text text,
  valid_from timestamptz not null,
  valid_to timestamptz,
  is_inferred boolean not null default false
);
create index if not exists issue_value_intervals_inferred
  on tracker.issue_value_intervals (source_id, issue_id) where is_inferred;
-- Its values may be null, so it has no key: a publication tells changed rows by all columns.
alter table tracker.issue_value_intervals replica identity full;
create index if not exists issue_value_intervals_issue on tracker.issue_value_intervals (source_id, issue_id);
comment on table tracker.issue_value_intervals is 'Values of fields over time, of issues and fields with changes, and of sprints and fix versions; one row per issue, field, value and interval.';
comment on column tracker.issue_value_intervals.source_id is 'The source, see ops.sources.';
comment on column tracker.issue_value_intervals.issue_id is 'The issue, see tracker.issues.id.';
comment on column tracker.issue_value_intervals.field_name is 'What the field is, see tracker.followed_fields.';
comment on column tracker.issue_value_intervals.field_id is 'Field id, see tracker.fields.id; null of sprints and fix versions.';
comment on column tracker.issue_value_intervals.value_id is 'The value, as id where the field has ids; null: none.';
comment on column tracker.issue_value_intervals.value_text is 'The value, as people read it; null: none, or known by its id.';
comment on column tracker.issue_value_intervals.valid_from is 'When it began (UTC).';
comment on column tracker.issue_value_intervals.valid_to is 'When it ended (UTC); null: it has not.';
comment on column tracker.issue_value_intervals.is_inferred is 'True where no change says so: the changes end with another value than that of the issue, or one names a value without an id.';

create table if not exists tracker.value_names (
  source_id smallint not null,
  kind text not null,
  name text not null,
  value_id text not null,
  primary key (source_id, kind, name, value_id)
);
comment on table tracker.value_names is 'Names that statuses, people, priorities, sprints and versions have or had, for changes that give a name and no id. From their lists; from changes only where the source has such changes. Never deleted.';
comment on column tracker.value_names.source_id is 'The source, see ops.sources.';
comment on column tracker.value_names.kind is 'status, person, priority, sprint or version.';
comment on column tracker.value_names.name is 'The name.';
comment on column tracker.value_names.value_id is 'What has or had the name, by its id.';

create table if not exists tracker.history_names (
  source_id smallint not null,
  issue_id bigint not null,
  field_name text not null,
  kind text not null,
  name text not null,
  is_known boolean not null,
  primary key (source_id, issue_id, field_name, name)
);
create index if not exists history_names_name on tracker.history_names (source_id, kind, name);
comment on table tracker.history_names is 'Names that changes of an issue give without an id; one row per issue, field and name. Most warehouses have none.';
comment on column tracker.history_names.source_id is 'The source, see ops.sources.';
comment on column tracker.history_names.issue_id is 'The issue, see tracker.issues.id.';
comment on column tracker.history_names.field_name is 'status, or what the field is, see tracker.followed_fields.';
comment on column tracker.history_names.kind is 'See tracker.value_names.kind.';
comment on column tracker.history_names.name is 'The name.';
comment on column tracker.history_names.is_known is 'True where exactly one value of the site has or had it.';

-- Unlogged: its rows never outlive their transaction, so a crash loses none, and a publication leaves it out.
create unlogged table if not exists tracker.touched (
  source_id smallint not null,
  part text not null,
  issue_ids bigint[] not null
);
alter table tracker.touched set unlogged;
comment on table tracker.touched is 'Issues whose facts the transaction must derive before it ends; empty between transactions.';
comment on column tracker.touched.source_id is 'The source, see ops.sources.';
comment on column tracker.touched.part is 'all, or sprints: only what follows from sprints.';
comment on column tracker.touched.issue_ids is 'The issues, see tracker.issues.id.';

create table if not exists tracker.fact_fields (
  source_id smallint primary key,
  sprint_fields text[] not null,
  points_fields text[] not null,
  followed_fields text not null
);
comment on table tracker.fact_fields is 'Which fields of a source hold sprints and story points, one row per source: how the history is read.';
comment on column tracker.fact_fields.source_id is 'The source, see ops.sources.';
comment on column tracker.fact_fields.sprint_fields is 'Ids of its sprint fields, see tracker.fields.id; empty: those that are called Sprint.';
comment on column tracker.fact_fields.points_fields is 'Ids of its fields of story points, in the order in which the first filled one counts.';
comment on column tracker.fact_fields.followed_fields is 'All fields whose values are followed, see tracker.followed_fields.';

-- Locks (tracker.lock_facts, tracker.lock_names): empty tables, because every role may take an advisory lock and so stop all
-- writes, but none may lock a table that it may not write to.
do $$
declare
  lock_name text;
begin
  for lock_name in select kind || n from unnest(array['facts_lock_', 'names_lock_']) kind, generate_series(0, 7) n loop
    execute format('create unlogged table if not exists tracker.%I ()', lock_name);
    execute format('comment on table tracker.%I is %L', lock_name, 'Always empty: locked by what keeps the stored facts.');
  end loop;
end
$$;
