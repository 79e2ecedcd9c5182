alter table ops.sources add token_ends_at timestamptz;
comment on column ops.sources.token_ends_at is 'When the token ends that the last run signed in with; null where that is not known.';
