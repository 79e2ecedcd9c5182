-- What the source lets expect of the slices that were read: estimates are made by its ratio to what came.
alter table ops.run_streams add expected_requests bigint;
comment on column ops.run_streams.expected_requests is 'Requests that the slices read let expect, by what the source and the warehouse know of them; null where they say nothing.';
