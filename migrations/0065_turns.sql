-- Owners in turn, some each run: such a stream is complete within several nights.
alter table ops.streams add in_turn boolean not null default false;
comment on column ops.streams.in_turn is 'True where each run reads some of its owners, in turn.';
