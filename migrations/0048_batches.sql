-- Which slice wrote a row: `_run_id` and `_synced_at` of a row lead to the batch that it came with.

create table ops.batches (
  batch_id bigint generated always as identity primary key,
  slice_id bigint not null,
  run_id bigint not null,
  moments timestamptz[] not null
);
create index on ops.batches (run_id);
comment on table ops.batches is 'Records of a slice that were committed together; kept as long as the slice. It says which slice wrote a row.';
comment on column ops.batches.batch_id is 'Key.';
comment on column ops.batches.slice_id is 'The slice, see ops.slices.';
comment on column ops.batches.run_id is 'The run that committed it, as in _run_id of its rows.';
comment on column ops.batches.moments is 'What its rows have as _synced_at: when each of its pages was read, and last the moment of the commit, which rows removed by it and parts of records have.';
