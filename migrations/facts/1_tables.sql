-- Stored facts of the tracker: what follows from issues and their history, kept by triggers in the transaction
-- of each write (6_triggers.sql). They hold the issues that bi shows (tracker.shown_issues, which asks
-- ops.shows_restricted_issues) and no others; days are those of ops.reporting_time_zone. When such a setting
-- changes, and for `tidemark derive --all`, all of them are made anew (rebuild.sql).
-- A column that a later version needs is added by `alter table … add column if not exists`, at the end.
-- A comment behind a table or a column is the one that the warehouse shows.

create table if not exists tracker.issue_status_intervals ( -- Stays of issues in a status, from the changelog; the last is in the status of the issue; one row per issue and stay.
  source_id smallint not null, -- The source, see ops.sources.
  issue_id bigint not null, -- The issue, see tracker.issues.id.
  sequence integer not null, -- Place of the stay in the history of the issue, from 0.
  project_id bigint not null, -- The project the issue is in today: the one that tracker.flow_daily counts it in.
  status_ref text, -- Status id as the changelog has it, see tracker.statuses.id; null: not known.
  status_text text, -- Name of the status when it was entered; null where no change names it.
  category text not null, -- todo, in_progress, done or unknown, as the status means today.
  previous_category text, -- Category of the stay before; null for the first.
  entered_at timestamptz not null, -- When the issue entered the status (UTC).
  left_at timestamptz, -- When it left the status (UTC); null: it has not.
  entered_by text, -- Who moved it there, see tracker.users.id.
  entered_date date not null, -- Day of entered_at, not before that of the creation.
  left_date date, -- Day of left_at, not before that of the creation.
  is_inferred boolean not null default false, -- True where no change says so: the changes end with another status than that of the issue, or one names a status without an id.
  primary key (source_id, issue_id, sequence)
);
create index if not exists issue_status_intervals_inferred
  on tracker.issue_status_intervals (source_id, issue_id) where is_inferred;

create table if not exists tracker.issue_facts ( -- What follows from the history of an issue, one row per issue.
  source_id smallint not null, -- The source, see ops.sources.
  issue_id bigint not null, -- The issue, see tracker.issues.id.
  first_assigned_at timestamptz, -- When it was assigned for the first time (UTC); null: never.
  first_started_at timestamptz, -- When it was first in progress (UTC); null: never.
  first_done_at timestamptz, -- When it was first done (UTC); null: never.
  last_done_at timestamptz, -- When it last became done (UTC), also where it was reopened since; null: never.
  is_done boolean not null, -- True when it is done now.
  current_category text not null, -- Category of its status now.
  current_since timestamptz not null, -- When it entered its status of now (UTC).
  todo_seconds numeric not null, -- Seconds of its ended stays in category todo.
  in_progress_seconds numeric not null, -- Seconds of its ended stays in category in_progress.
  status_changes integer not null, -- How often its status changed.
  reopen_count integer not null, -- How often it was done and then no longer.
  assignee_changes integer not null, -- How often its assignee changed.
  priority_changes integer not null, -- How often its priority changed.
  comment_count integer not null, -- Live comments.
  last_comment_at timestamptz, -- When the last live comment was written (UTC); null: none.
  first_response_at timestamptz, -- When the first live comment of anyone but the reporter was written (UTC); at a service desk, that the customer sees; null: none.
  began_at timestamptz, -- When it was created, or its first followed change where that is older (UTC): imported histories may be older than their issue.
  unjoined_changes integer not null default 0, -- Followed changes that do not begin with the value that the change before ended with.
  primary key (source_id, issue_id)
);
create index if not exists issue_facts_unjoined on tracker.issue_facts (source_id, issue_id) where unjoined_changes > 0;

create table if not exists tracker.flow_daily ( -- By how much the number of issues in a status category changed; one row per project, category and day with a change.
  source_id smallint not null, -- The source, see ops.sources.
  project_id bigint not null, -- The project the issues are in today, see tracker.projects.id.
  category text not null, -- todo, in_progress, done or unknown.
  date_day date not null, -- The day.
  change integer not null, -- Issues that entered the category on the day less those that left it; never 0.
  primary key (source_id, project_id, category, date_day)
);

create table if not exists tracker.sprint_issue_facts ( -- How an issue fared in a sprint; one row per issue and sprint that it is or was in.
  source_id smallint not null, -- The source, see ops.sources.
  issue_id bigint not null, -- The issue, see tracker.issues.id.
  sprint_id bigint not null, -- The sprint, see tracker.sprints.id; the warehouse may not know it.
  added_at timestamptz not null, -- When it first came into the sprint (UTC); if no change is recorded, when the issue was created.
  removed_at timestamptz, -- When it last left the sprint (UTC); null while it is in it.
  is_committed boolean not null, -- True when it was in the sprint at its start.
  is_added boolean not null, -- True when it came after the start and before the end, and was not committed.
  is_in_at_end boolean not null, -- True when it was in the sprint at its end; of an open sprint, now.
  category_at_end text not null, -- Status category at the end of the sprint; of an open sprint, now.
  points_in numeric(18, 4), -- Story points when it was committed or added; null: not estimated then, or neither.
  points_out numeric(18, 4), -- Story points at the end of the sprint, or when it was removed; of an open sprint, now.
  primary key (source_id, issue_id, sprint_id)
);
create index if not exists sprint_issue_facts_sprint on tracker.sprint_issue_facts (source_id, sprint_id);

create table if not exists tracker.sprint_burndown_changes ( -- By how much an issue changed the scope and the remaining work of a started sprint; one row per issue, sprint and day with a change. What was before the start counts on its day.
  source_id smallint not null, -- The source, see ops.sources.
  issue_id bigint not null, -- The issue, see tracker.issues.id.
  sprint_id bigint not null, -- The sprint, see tracker.sprints.id.
  date_day date not null, -- The day.
  scope_issues integer not null, -- 1: it came into the sprint; -1: it left it.
  scope_points numeric(18, 4) not null, -- Story points that came with it, left with it, or were estimated anew.
  remaining_issues integer not null, -- The same of issues that are not done.
  remaining_points numeric(18, 4) not null, -- The same of issues that are not done.
  primary key (source_id, issue_id, sprint_id, date_day)
);
create index if not exists sprint_burndown_changes_sprint on tracker.sprint_burndown_changes (source_id, sprint_id);

create table if not exists tracker.issue_value_intervals ( -- Values of fields over time, of issues and fields with changes, and of sprints and fix versions; one row per issue, field, value and interval.
  source_id smallint not null, -- The source, see ops.sources.
  issue_id bigint not null, -- The issue, see tracker.issues.id.
  field_name text not null, -- What the field is, see tracker.followed_fields.
  field_id text, -- Field id, see tracker.fields.id; null of sprints and fix versions.
  value_id text, -- The value, as id where the field has ids; null: none.
  value_text text, -- The value, as people read it; null: none, or known by its id.
  valid_from timestamptz not null, -- When it began (UTC).
  valid_to timestamptz, -- When it ended (UTC); null: it has not.
  is_inferred boolean not null default false -- True where no change says so: the changes end with another value than that of the issue, or one names a value without an id.
);
create index if not exists issue_value_intervals_inferred
  on tracker.issue_value_intervals (source_id, issue_id) where is_inferred;
-- Its values may be null, so it has no key: a publication tells changed rows by all columns.
alter table tracker.issue_value_intervals replica identity full;
create index if not exists issue_value_intervals_issue on tracker.issue_value_intervals (source_id, issue_id);

create table if not exists tracker.value_names ( -- Names that statuses, people, priorities, sprints and versions have or had, for changes that give a name and no id. From their lists; from changes only where the source has such changes. Never deleted.
  source_id smallint not null, -- The source, see ops.sources.
  kind text not null, -- status, person, priority, sprint or version.
  name text not null, -- The name.
  value_id text not null, -- What has or had the name, by its id.
  primary key (source_id, kind, name, value_id)
);

create table if not exists tracker.history_names ( -- Names that changes of an issue give without an id; one row per issue, field and name. Most warehouses have none.
  source_id smallint not null, -- The source, see ops.sources.
  issue_id bigint not null, -- The issue, see tracker.issues.id.
  field_name text not null, -- status, or what the field is, see tracker.followed_fields.
  kind text not null, -- See tracker.value_names.kind.
  name text not null, -- The name.
  is_known boolean not null, -- True where exactly one value of the site has or had it.
  primary key (source_id, issue_id, field_name, name)
);
create index if not exists history_names_name on tracker.history_names (source_id, kind, name);

-- Unlogged: its rows never outlive their transaction, so a crash loses none, and a publication leaves it out.
create unlogged table if not exists tracker.touched ( -- Issues whose facts the transaction must derive before it ends; empty between transactions.
  source_id smallint not null, -- The source, see ops.sources.
  part text not null, -- all, or sprints: only what follows from sprints.
  issue_ids bigint[] not null -- The issues, see tracker.issues.id.
);
alter table tracker.touched set unlogged;

create table if not exists tracker.fact_fields ( -- Which fields of a source hold sprints and story points, one row per source: how the history is read.
  source_id smallint primary key, -- The source, see ops.sources.
  sprint_fields text[] not null, -- Ids of its sprint fields, see tracker.fields.id; empty: those that are called Sprint.
  points_fields text[] not null, -- Ids of its fields of story points, in the order in which the first filled one counts.
  followed_fields text not null -- All fields whose values are followed, see tracker.followed_fields.
);

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

-- Indices of earlier versions, which others have replaced.
drop index if exists tracker.issues_project_id_source_id_idx;
drop index if exists tracker.issues_project_id_source_id_id_idx;
drop index if exists ads.report_daily_source_id_ad_account_id_entity_type_day_idx;
drop index if exists ads.report_hourly_source_id_ad_account_id_entity_type_hour_star_idx;
