-- Numbers and instants that all parts share.

create schema fill;

create function fill.size(name text) returns bigint stable return current_setting('fill.' || name)::bigint;

-- A number from 0 to below - 1 that looks like chance and is the same each time.
create function fill.pick(n bigint, salt bigint, below bigint) returns bigint immutable parallel safe
  return (hashint8extended(n, salt) & 9007199254740991) % below;

-- The same from 0 to 1.
create function fill.part(n bigint, salt bigint) returns double precision immutable parallel safe
  return fill.pick(n, salt, 1000000)::double precision / 1000000;

create function fill.uuid(kind text, n bigint) returns text immutable parallel safe
  return md5(kind || n)::uuid::text;

-- Today begins; nothing is later, except future sprints.
create function fill.today() returns timestamptz stable return date_trunc('day', now(), 'UTC');
create function fill.first_day() returns timestamptz stable return fill.today() - interval '2192 days';

insert into ops.sources (name, kind, base_url) values
  ('tracker', 'tracker', 'https://jira.example.com'),
  ('ads', 'ads', 'https://ads.example.com'),
  ('workflow', 'workflow', 'https://dagu.example.com');
