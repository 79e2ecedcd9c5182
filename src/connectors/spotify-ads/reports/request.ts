/** What the reports of one opened ads platform share, and which entities they are requested for. */

import type { Days, KeySet, Partitions, Slice, SliceContext } from '../../../core/stream.ts';
import type { DownloadLimits } from '../../../reading/download.ts';
import { type StreamLimit, streamLimit } from '../../../reading/merge-concurrent.ts';
import type { JobLimits, Jobs } from '../../../reading/report-jobs.ts';
import { type Ads, accountOf, accounts, wanted } from '../ads.ts';
import { withoutUnsupported } from './unsupported.ts';

export interface ReportSettings {
  /** The first day of reports. */
  readonly start: Date;
  /** How many days are read again: every day, every 7 and every 30 days. */
  readonly restateDays: readonly [nightly: number, weekly: number, monthly: number];
  /** Report requests a second that the platform allows; 0: unlimited. */
  readonly reportRequestsPerSecond: number;
  /** Hosts besides the platform's own from which reports may be fetched. */
  readonly reportHosts: readonly string[];
}

export interface Reports extends Ads {
  /** Accounts × levels. */
  readonly levels: Partitions;
  /** The accounts alone. */
  readonly accounts: Partitions;
  /** What all streams of days share. */
  readonly days: Pick<Days, 'start' | 'scope' | 'perSecond'>;
  readonly reread: Days['reread'];
  readonly hosts: readonly string[];
  /** How long a CSV report is waited for; absent: as `defaultJobLimits`. */
  readonly jobLimits?: Partial<JobLimits>;
  /** Bounds of the download of a CSV report; absent: as `defaultDownloadLimits`. */
  readonly downloads?: Partial<DownloadLimits>;
  /** For tests: the dice, the wall clock and how to wait. */
  readonly time?: Pick<Jobs, 'random' | 'now' | 'sleep'>;
  /** Limits the open walks of aggregate reports over all slices. */
  readonly streamLimit: StreamLimit;
}

/** The reports of an opened platform: how far back and how often they are read. */
export const reportsOf = (ads: Ads, settings: ReportSettings): Reports => {
  const { start, restateDays, reportRequestsPerSecond, reportHosts } = settings;
  const [nightly, weekly, monthly] = restateDays;
  return {
    ...ads,
    http: withoutUnsupported(ads.http, ads.note),
    levels: {
      table: 'ads.report_levels',
      columns: { ad_account_id: 'ad_account_id', entity_type: 'entity_type' },
      where: `true${wanted(ads.accountIds, 'ad_account_id')}`,
    },
    accounts: accounts(ads),
    days: { start, scope: `from ${dayText(start)}`, perSecond: reportRequestsPerSecond },
    reread: [
      { every: 1, back: nightly },
      { every: 7, back: weekly },
      { every: 30, back: monthly },
    ],
    hosts: reportHosts,
    streamLimit: streamLimit(ads.concurrency),
  };
};

export const dayText = (at: Date): string => at.toISOString().slice(0, 10);

/** The days of a slice of reports, half open. */
export const daysOf = ({ window }: Slice): { readonly from: Date; readonly to: Date } => {
  if (window?.from === undefined || window.to === undefined)
    throw new TypeError('a slice of reports has a first and a last day');
  return { from: window.from, to: window.to };
};

const tables = { CAMPAIGN: 'ads.campaigns', AD_SET: 'ads.ad_sets', AD: 'ads.ads' } as const;

/** The four levels of the hierarchy that numbers are reported for. */
export type Level = 'AD_ACCOUNT' | keyof typeof tables;

export const levelOf = ({ partition }: Slice): Level => {
  const level = partition?.entity_type;
  if (level === 'AD_ACCOUNT' || level === 'CAMPAIGN' || level === 'AD_SET' || level === 'AD') return level;
  throw new TypeError(`a slice of a report names its level, not ${level}`);
};

/** Where the facts of a stream are, and the column that says to which day one belongs. */
export interface Facts {
  /** `schema.table` */
  readonly table: string;
  readonly column: string;
}

/** SQL: facts of the slice's days, and of `back` days before them. */
const inDays = ({ column }: Facts, slice: Slice, back = 0): string => {
  const { from, to } = daysOf(slice);
  return `${column} >= '${from.toISOString()}'::timestamptz - interval '${back} days' and ${column} < '${to.toISOString()}'`;
};

/** Whether the warehouse has facts of some of these entities in the slice's days; of a lifetime, in the week before. */
export const hasFacts = async (
  slice: Slice,
  context: SliceContext,
  facts: Facts,
  ids: readonly string[],
): Promise<boolean> => {
  const found = await context.keys({
    table: facts.table,
    columns: { id: 'entity_id' },
    of: { ad_account_id: accountOf(slice), entity_type: levelOf(slice) },
    among: { entity_id: ids },
    where: inDays(facts, slice, facts.column === 'captured_on' ? 7 : 0),
  });
  return found.length > 0;
};

/**
 * The ids of the level's entities in the slice's account, archived ones included: what they spent was spent. Entities that were created after
 * the slice's days have no numbers in them, unless the warehouse has some.
 */
export const idsIn = async (
  slice: Slice,
  context: SliceContext,
  facts: Facts,
): Promise<readonly string[]> => {
  const level = levelOf(slice);
  const account = accountOf(slice);
  const idsOf = (table: string, column: string, when: Pick<KeySet, 'where'>) =>
    context.keys({ table, columns: { id: column }, of: { ad_account_id: account }, ...when });
  const inTime = (table: string, column: string): Pick<KeySet, 'where'> => ({
    where: `created_at is null or created_at < '${daysOf(slice).to.toISOString()}'::timestamptz + interval '1 day'
      or exists (select from ${facts.table} f where f.source_id = ${table}.source_id and f.entity_type = '${level}'
        and f.entity_id = ${table}.${column} and ${inDays(facts, slice)})`,
  });
  if (level !== 'AD_ACCOUNT')
    return (await idsOf(tables[level], 'id', inTime(tables[level].replace('ads.', ''), 'id'))).flatMap(
      ({ id }) => id ?? [],
    );
  // An account spends nothing before its first campaign is created.
  const campaigns = (when: Pick<KeySet, 'where'>) => idsOf(tables.CAMPAIGN, 'ad_account_id', when);
  const isEarly =
    (await campaigns(inTime('campaigns', 'ad_account_id'))).length === 0 && (await campaigns({})).length > 0;
  return isEarly ? [] : [account];
};

const membersSql = Object.entries(tables)
  .map(
    ([level, name]) =>
      `select source_id, ad_account_id, '${level}', created_at, _first_synced_at from ${name}`,
  )
  .join('\n    union all ');

/**
 * Accounts × levels with entities that became known late (`Days.joined`): their list failed or was closed to us when their days were read.
 * What an account spent by its oldest campaign belongs to its own level, too.
 */
export const lateLevels = `
  select ad_account_id, entity_type, case when bool_or(created_at is null) then null else min(created_at) end as since
  from (
    select source_id, ad_account_id, 'AD_ACCOUNT' as entity_type, created_at, _first_synced_at from ${tables.CAMPAIGN}
    union all ${membersSql}
  ) e
  where source_id = $1 and _first_synced_at > $2::timestamptz and (created_at is null or created_at < $3::timestamptz)
  group by 1, 2`;

/** The most ids that one request may name. */
const mostIds = 50;

/** Ids in chunks that one request may name. */
export const chunks = (ids: readonly string[]): readonly (readonly string[])[] =>
  Array.from({ length: Math.ceil(ids.length / mostIds) }, (_, i) =>
    ids.slice(i * mostIds, (i + 1) * mostIds),
  );
