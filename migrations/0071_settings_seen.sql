-- What the page of a pipeline tells of the past, found by indexes: settings as they changed, deletions, and what the guard held back.
create table ops.settings_seen ( -- Settings of a pipeline when serve began with others than before; one row per pipeline and change.
  pipeline text not null, -- The pipeline.
  seen_at timestamptz not null default clock_timestamp(), -- When serve began with them (UTC).
  settings jsonb not null, -- The value of each setting by its name; of a secret only whether it is set.
  primary key (pipeline, seen_at)
);

create index on ops.run_streams (source_id, run_id desc) where deleted > 0 or status = 'attention';
create index on ops.schema_changes (source_id, change_id desc);

create function ops.note_settings(known jsonb) returns void language sql as $$
  insert into ops.settings_seen (pipeline, settings)
  select n.pipeline, n.settings
  from (
    select p.pipeline, jsonb_object_agg(s.name, s.value) as settings
    from jsonb_to_recordset(known -> 'pipelines') as p (pipeline text, names jsonb)
    join jsonb_to_recordset(known -> 'shown') as s (name text, value text) on p.names ? s.name
    group by p.pipeline
  ) n
  where n.settings is distinct from (
    select o.settings from ops.settings_seen o where o.pipeline = n.pipeline order by o.seen_at desc limit 1)
$$;
comment on function ops.note_settings(jsonb) is
  'Adds to ops.settings_seen the settings of each pipeline that are not as they were last. known: shown, an array of objects with name and value, and pipelines, an array of objects with pipeline and the names of its settings.';
