/** What the reports of one opened ads platform share, and which entities they are requested for. */

import type { Days, Partitions, Slice, SliceContext } from '../../../core/stream.ts';
import type { Download } from '../../../reading/download.ts';
import { type StreamLimit, streamLimit } from '../../../reading/merge-concurrent.ts';
import type { Jobs } from '../../../reading/report-jobs.ts';
import { type Ads, accountOf, wanted } from '../ads.ts';
import type { AdsConfig } from '../config.ts';
import { withoutUnsupported } from './unsupported.ts';

/** The settings that concern reports. */
export type ReportSettings = Pick<
  AdsConfig,
  'start' | 'restateDays' | 'reportRequestsPerSecond' | 'reportHosts'
>;

export interface Reports extends Ads {
  /** Accounts × levels. */
  readonly levels: Partitions;
  /** What all streams of days share. */
  readonly days: Pick<Days, 'start' | 'scope' | 'reread'>;
  /** Report requests a second that the platform allows; 0: unlimited. */
  readonly perSecond: number;
  readonly hosts: readonly string[];
  /** Limits the open walks of aggregate reports over all slices. */
  readonly streamLimit: StreamLimit;
  /** For tests: bounds, the dice, the wall clock and how to wait. */
  readonly jobs?: Partial<Jobs>;
  readonly download?: Partial<Download>;
}

/** The reports of an opened platform: how far back and how often they are read. A note that many slices would make is made once. */
export const reportsOf = (ads: Ads, settings: ReportSettings): Reports => {
  const { start, restateDays, reportRequestsPerSecond, reportHosts } = settings;
  const [nightly, weekly, monthly] = restateDays;
  const noted = new Set<string>();
  const note: Ads['note'] = (message) => {
    if (!noted.has(message)) ads.note(message);
    noted.add(message);
  };
  return {
    ...ads,
    note,
    http: withoutUnsupported(ads.http, note),
    levels: {
      table: 'ads.report_levels',
      columns: { ad_account_id: 'ad_account_id', entity_type: 'entity_type' },
      where: `true${wanted(ads.accountIds, 'ad_account_id')}`,
    },
    days: {
      start,
      scope: `from ${dayText(start)}`,
      reread: [
        { every: 1, back: nightly },
        { every: 7, back: weekly },
        { every: 30, back: monthly },
      ],
    },
    perSecond: reportRequestsPerSecond,
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

/** The four levels of the hierarchy that numbers are reported for. */
const levels = ['AD_ACCOUNT', 'CAMPAIGN', 'AD_SET', 'AD'] as const;
export type Level = (typeof levels)[number];

export const levelOf = ({ partition: { entity_type } = {} }: Slice): Level => {
  const level = levels.find((one) => one === entity_type);
  if (level !== undefined) return level;
  throw new TypeError(`a slice of a report names its level, not ${entity_type}`);
};

/** Where the facts of a stream are, and the column that says to which day one belongs. */
export type FactTable = Pick<Days, 'column'> & { readonly table: `ads.${string}` };

/** SQL: facts of the slice's days, and of `back` days before them. */
const inDays = ({ column }: FactTable, slice: Slice, back = 0): string => {
  const { from, to } = daysOf(slice);
  return `${column} >= '${from.toISOString()}'::timestamptz - interval '${back} days' and ${column} < '${to.toISOString()}'`;
};

/** Whether the warehouse has facts of some of these entities in the slice's days; of a lifetime, in the week before. */
export const hasFacts = async (
  slice: Slice,
  context: SliceContext,
  facts: FactTable,
  ids: readonly string[],
) => {
  const found = await context.keys({
    table: facts.table,
    columns: { id: 'entity_id' },
    of: { ad_account_id: accountOf(slice), entity_type: levelOf(slice) },
    among: { entity_id: ids },
    where: inDays(facts, slice, facts.column === 'captured_on' ? 7 : 0),
  });
  return found.length > 0;
};

/** SQL: something may have numbers in the slice's days, by when it was created. */
const isInTime = (slice: Slice): string =>
  `created_at is null or created_at < '${daysOf(slice).to.toISOString()}'::timestamptz + interval '1 day'`;

/** Whether the slice's account can have spent something in its days. */
export const accountExists = async (slice: Slice, { keys }: SliceContext): Promise<boolean> => {
  const of = { id: accountOf(slice) };
  const set = { table: 'ads.ad_accounts', columns: { id: 'id' }, of, where: isInTime(slice) };
  return (await keys(set)).length > 0;
};

/**
 * The ids of the level's entities in the slice's account, archived ones included: what they spent was spent. Entities that were created after
 * the slice's days have no numbers in them, unless the warehouse has some.
 */
export const idsIn = async (slice: Slice, { keys }: SliceContext, facts: FactTable) => {
  const level = levelOf(slice);
  const found = await keys({
    table: 'ads.report_entities',
    columns: { id: 'entity_id' },
    of: { ad_account_id: accountOf(slice), entity_type: level },
    where: `${isInTime(slice)} or exists (select from ${facts.table} f
      where f.source_id = report_entities.source_id and f.entity_type = '${level}'
        and f.entity_id = report_entities.entity_id and ${inDays(facts, slice)})`,
  });
  return found.flatMap(({ id }) => id ?? []);
};

/** Accounts × levels with entities that became known late (`Days.joined`). */
export const lateLevels = 'select * from ads.late_levels($1::smallint, $2::timestamptz, $3::timestamptz)';
