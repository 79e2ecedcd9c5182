create or replace view bi.contract as -- What this schema is and how it is set up; one row per warehouse.
select
  '1.0'::text as bi_version, -- Version of the schema: the number before the dot changes when a column is removed, renamed or changed, the other one when columns are added.
  ops.reporting_time_zone() as reporting_time_zone, -- IANA time zone of the dates and weeks of issues and workflows (TIDEMARK_REPORTING_TIME_ZONE).
  ops.reporting_currency() as reporting_currency,
  ops.fiscal_year_start() as fiscal_year_start_month, -- Month in which the fiscal year begins, 1 to 12 (TIDEMARK_FISCAL_YEAR_START).
  ops.shows_restricted_issues() as is_restricted_shown;

comment on column bi.contract.is_restricted_shown is 'True where issues with a security level are shown, too (TIDEMARK_BI_RESTRICTED_ISSUES).';
