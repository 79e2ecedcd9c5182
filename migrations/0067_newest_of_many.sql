-- The newest runs among a million: each page finds them by an index, whatever the history before them holds.
create index on ops.runs (pipeline, settles, run_id desc) where finished_at is not null;
create index on ops.runs (run_id) where status = 'running';
create index on ops.runs ((run_id::text));
create index on ops.runs (started_at desc, run_id desc);
create index on ops.runs (pipeline, started_at desc, run_id desc);
drop index ops.runs_started_at_idx, ops.runs_pipeline_started_at_idx;
create index on ops.runs (status, started_at desc) where status <> 'succeeded';
create index on ops.runs (kind, started_at desc) where kind <> 'sync';
create index on ops.runs (('manual-' || run_id::text)) where trigger = 'manual';
create index on ops.runs (pipeline, started_at desc) where trigger = 'manual';
create index on ops.run_streams (source_id, stream, run_id desc);

alter table ops.streams add child_tables text[] not null default '{}';
comment on column ops.streams.child_tables is 'schema.table of what its records hold besides, e.g. the comments of issues.';
