-- What the time of a stream went into in a run, and requests by the one that they repeat.
alter table ops.run_streams
  add reading_seconds double precision,
  add limited_seconds double precision;
comment on column ops.run_streams.reading_seconds is 'Seconds in which a request of it was under way; null while it runs, and of runs before this was kept.';
comment on column ops.run_streams.limited_seconds is 'Seconds in which none was under way and one waited for a rate limit; null as reading_seconds.';

create index on ops.dag_runs (retry_of) where retry_of is not null;
