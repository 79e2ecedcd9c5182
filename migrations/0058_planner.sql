-- What a stream cost in a run, beside what was estimated before it: what `tidemark plan` is made from.
alter table ops.run_streams
  add mode text,
  add requests bigint,
  add estimated_requests bigint,
  add estimated_seconds double precision;
comment on column ops.run_streams.mode is 'How it was read: list, full, incremental (changes), created-window, restatement (days) or backfill; null where no records were asked for.';
comment on column ops.run_streams.requests is 'HTTP requests sent for it, repeated ones included; null while it runs, and of runs before this was kept. Requests that streams share count for the first of them.';
comment on column ops.run_streams.estimated_requests is 'Requests that the runs before it let expect; null where there were none in this mode.';
comment on column ops.run_streams.estimated_seconds is 'The same in seconds from its beginning to its end.';
