-- Rate limits that all processes keep together.

-- Unlogged: written many times a second, and nothing in it is worth the WAL. A crash of the server empties it: limits start afresh, and a
-- pause that was forgotten is asked for again by the source.
create unlogged table ops.budgets (
  key text primary key,
  free_at timestamptz not null
);
comment on table ops.budgets is 'Rate limits and pauses of the sources, shared by all processes. Requests are taken from the future (GCRA): each take moves free_at on. Unlogged: a crash of the server empties it.';
comment on column ops.budgets.key is 'Key. A rate limit: its name and the base URL of the source. A pause: the base URL, followed by method and endpoint where only they pause.';
comment on column ops.budgets.free_at is 'By the database clock: when the next request may leave.';
