-- What a source renews and must find again, such as a refresh token, sealed with TIDEMARK_SECRET_KEY.

create table ops.kept_secrets (
  name text primary key,
  sealed bytea,
  kept_at timestamptz not null default now()
);
comment on table ops.kept_secrets is 'Refresh tokens that a source renewed, encrypted with TIDEMARK_SECRET_KEY. No reader sees them.';
comment on column ops.kept_secrets.name is 'The pipeline.';
comment on column ops.kept_secrets.sealed is 'AES-256-GCM: nonce of 12 bytes, tag of 16, then the text. Null until a first token was kept.';
comment on column ops.kept_secrets.kept_at is 'When it was last renewed.';
revoke all on ops.kept_secrets from public;
