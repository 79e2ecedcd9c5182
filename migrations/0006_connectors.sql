-- Connectors of one's own: their tables lie in a schema of their own.
alter table ops.sources drop constraint sources_kind_check;
comment on column ops.sources.kind is 'The schema of its tables, e.g. tracker.';
