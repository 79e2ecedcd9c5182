/** What the reporting schema is told by the configuration: the bodies of functions in schema `ops` that its views call. */
import type { ViewSettings } from '../warehouse/tables.ts';

/** The configuration of reports. */
export interface Reporting {
  /** IANA name: the zone of every `*_date` and week. */
  readonly timeZone: string;
  /** ISO 4217 currency of the `*_in_reporting_currency` columns; undefined: none. */
  readonly currency: string | undefined;
  /** 1 Monday to 7 Sunday. */
  readonly workingDays: readonly number[];
  /** Month in which the fiscal year begins, 1 to 12. */
  readonly fiscalYearStart: number;
  readonly names: 'shown' | 'pseudonyms';
  /** Issues with a security level. */
  readonly restrictedIssues: 'hidden' | 'shown';
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** For `migrate`, which replaces the functions that differ and then makes the stored facts anew. */
export const settingsOf = (reporting: Reporting): ViewSettings => ({
  'reporting_time_zone() returns text': literal(reporting.timeZone),
  'reporting_currency() returns text':
    reporting.currency === undefined ? 'null::text' : literal(reporting.currency),
  'is_working_day(date) returns boolean': `extract(isodow from $1) in (${reporting.workingDays})`,
  'fiscal_year_start() returns integer': String(reporting.fiscalYearStart),
  'shows_names() returns boolean': String(reporting.names === 'shown'),
  'shows_restricted_issues() returns boolean': String(reporting.restrictedIssues === 'shown'),
});
