-- What the reporting schema can be told. Lists are filled by the company itself; single values come from the
-- environment: `migrate` replaces the functions below.

create schema ref;
comment on schema ref is 'Lists that a company fills itself, with SQL: exchange rates, holidays, roles of DAGs. Read by the views of bi; empty at first.';

create table ref.fx_rates (
  date_day date not null,
  from_currency text not null,
  to_currency text not null,
  rate numeric(28, 12) not null check (rate > 0),
  primary key (from_currency, to_currency, date_day)
);
comment on table ref.fx_rates is 'Exchange rates, one row per day and pair of currencies. A day without a rate takes that of the last day before it.';
comment on column ref.fx_rates.date_day is 'The first day that the rate holds for.';
comment on column ref.fx_rates.from_currency is 'ISO 4217 currency of the amount.';
comment on column ref.fx_rates.to_currency is 'ISO 4217 currency that it becomes, e.g. the reporting currency.';
comment on column ref.fx_rates.rate is 'Units of to_currency for one unit of from_currency.';

create table ref.holidays (
  date_day date primary key,
  name text not null
);
comment on table ref.holidays is 'Days on which nobody works, one row each.';
comment on column ref.holidays.date_day is 'The day.';
comment on column ref.holidays.name is 'What it is called.';

create table ref.dag_roles (
  dag_pattern text primary key,
  role text not null
);
comment on table ref.dag_roles is 'What DAGs are for, one row per pattern. Of several patterns that fit a name the longest counts.';
comment on column ref.dag_roles.dag_pattern is 'Name of a DAG; % stands for any text, as in LIKE.';
comment on column ref.dag_roles.role is 'deployment, incident, maintenance, or a word of the company''s own.';

create function ops.reporting_time_zone() returns text immutable parallel safe return 'UTC';
comment on function ops.reporting_time_zone() is 'IANA time zone of every *_date and week of the reporting schema (TIDEMARK_REPORTING_TIME_ZONE).';

create function ops.reporting_currency() returns text immutable parallel safe return null::text;
comment on function ops.reporting_currency() is 'ISO 4217 currency of the *_in_reporting_currency columns (TIDEMARK_REPORTING_CURRENCY); null: none.';

create function ops.is_working_day(date) returns boolean immutable parallel safe
  return extract(isodow from $1) between 1 and 5;
comment on function ops.is_working_day(date) is 'True on the weekdays on which people work (TIDEMARK_WORKING_DAYS); holidays are in ref.holidays.';

create function ops.fiscal_year_start() returns integer immutable parallel safe return 1;
comment on function ops.fiscal_year_start() is 'Month in which the fiscal year begins, 1 to 12 (TIDEMARK_FISCAL_YEAR_START).';

create function ops.shows_restricted_issues() returns boolean immutable parallel safe return false;
comment on function ops.shows_restricted_issues() is 'True where bi shows issues with a security level, too (TIDEMARK_BI_RESTRICTED_ISSUES=shown).';
