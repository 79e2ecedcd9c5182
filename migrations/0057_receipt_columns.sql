-- A receipt has three numbers everywhere: expected, read and stored.
alter table ops.run_streams rename column fetched to read;
alter table ops.run_streams rename column landed to stored;
comment on column ops.run_streams.read is 'Distinct records of the walks.';
alter table ops.slices rename column fetched to read;
alter table ops.slices rename column landed to stored;
