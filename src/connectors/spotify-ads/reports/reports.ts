/** What the reports of one opened ads platform share. */

import type { Days, Partitions } from '../../../core/stream.ts';
import type { DownloadLimits } from '../../../reading/download.ts';
import type { Jobs, Patience } from '../../../reading/report-jobs.ts';
import { type Gate, gateOf } from '../../../reading/stream-limit.ts';
import { type Ads, accounts, wanted } from '../ads.ts';
import { withKnownFields } from './request.ts';

export interface Reports extends Ads {
  /** Accounts × levels. */
  readonly levels: Partitions;
  /** The accounts alone. */
  readonly accounts: Partitions;
  /** The first day of reports. */
  readonly start: Date;
  /** What the configuration restricts the reports to. */
  readonly scope: string;
  readonly reread: Days['reread'];
  /** Report requests a second that the platform allows; 0: unlimited. */
  readonly perSecond: number;
  /** Hosts besides the platform's own from which reports may be fetched. */
  readonly hosts: readonly string[];
  /** How long a CSV report is waited for; absent: as `defaultPatience`. */
  readonly patience?: Partial<Patience>;
  /** Bounds of the download of a CSV report; absent: as `defaultDownloadLimits`. */
  readonly downloads?: Partial<DownloadLimits>;
  /** For tests: the dice, the wall clock and how to wait. */
  readonly time?: Pick<Jobs, 'random' | 'now' | 'sleep'>;
  /** Through which all walks of aggregate reports go, whatever slice they are of. */
  readonly gate: Gate;
}

export interface ReportSettings {
  readonly start: Date;
  readonly restateDays: readonly [nightly: number, weekly: number, monthly: number];
  readonly reportRequestsPerSecond: number;
  readonly reportHosts: readonly string[];
}

/** The reports of an opened platform: how far back and how often they are read. */
export function reportsOf(ads: Ads, settings: ReportSettings): Reports {
  const [nightly, weekly, monthly] = settings.restateDays;
  const http = withKnownFields(ads.http, ads.note);
  return {
    ...ads,
    http,
    levels: {
      table: 'ads.report_levels',
      columns: { ad_account_id: 'ad_account_id', entity_type: 'entity_type' },
      where: `true${wanted(ads.accountIds, 'ad_account_id')}`,
    },
    accounts: accounts(ads),
    start: settings.start,
    scope: `from ${settings.start.toISOString().slice(0, 10)}`,
    reread: [
      { every: 1, back: nightly },
      { every: 7, back: weekly },
      { every: 30, back: monthly },
    ],
    perSecond: settings.reportRequestsPerSecond,
    hosts: settings.reportHosts,
    gate: gateOf(ads.concurrency),
  };
}
