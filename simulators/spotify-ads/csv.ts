/** CSV reports: rows by name and day, written one line at a time however many there are. */

import { csvMetric, units } from './fields.ts';
import { adDay, sumsOf } from './metrics.ts';
import type { Ad, AdSet, Campaign, Job } from './model.ts';
import type { AdsState } from './state.ts';
import type { Sums } from './sums.ts';

const day = 86_400_000;

/** How a file is spoiled; for tests, set and cleared between runs. */
export interface Spoiling {
  bom?: boolean;
  crlf?: boolean;
  /** A last line of totals. */
  footer?: boolean;
  /** Columns in reverse order, and one that nobody knows. */
  reordered?: boolean;
  /** Leaves this column out. */
  without?: string;
  /** The n-th row has a cell too few. */
  ragged?: number;
  /** Names have commas, quotes and line breaks in them. */
  wild?: boolean;
  /** Every cell is quoted. */
  quoted?: boolean;
  /** Ends the file after so many lines, in the middle of one, without the connection being cut. */
  truncated?: number;
  /** Cuts the connection after so many lines. */
  cut?: number;
  /** The address has expired: 403 with XML, so often. */
  expired?: number;
  /** Refuses with this status, so often. */
  failing?: { readonly status: number; times: number };
}

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const always = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/** What an ad is reported under: one of the statuses of CSV reports. */
export const reportStatus = (campaign: Campaign | undefined, adSet: AdSet | undefined): string => {
  if (campaign?.status === 'PAUSED' || adSet?.delivery === 'OFF') return 'PAUSED';
  if (campaign?.status === 'ARCHIVED' || adSet?.status === 'ARCHIVED') return 'STOPPED';
  return ['COMPLETED', 'PENDING_APPROVAL', 'REJECTED'].find((one) => one === adSet?.status) ?? 'ACTIVE';
};

type Cells = (column: string) => string | undefined;

/** The names and facts of an ad, by column. */
const namesOf = (
  state: AdsState,
  ad: Ad,
  adSet: AdSet | undefined,
  campaign: Campaign | undefined,
  wild: boolean,
) => {
  const name = (text: string): string => (wild ? `${text}, "the\r\nfirst"` : text);
  const account = state.accounts.get(ad.accountId);
  return new Map<string, string>([
    ['AD_ACCOUNT_NAME', account?.name ?? ''],
    ['AD_ACCOUNT_CURRENCY', account?.currency ?? ''],
    ['CAMPAIGN_NAME', name(campaign?.name ?? '')],
    ['CAMPAIGN_STATUS', campaign?.status ?? ''],
    ['CAMPAIGN_OBJECTIVE', campaign?.objective ?? ''],
    ['AD_SET_NAME', adSet?.name ?? ''],
    ['AD_SET_STATUS', adSet?.status ?? ''],
    ['AD_SET_BUDGET', adSet === undefined ? '' : units(adSet.budget)],
    ['AD_SET_COST_MODEL', adSet?.costModel ?? ''],
    ['AD_NAME', name(ad.name)],
  ]);
};

/** The lines of a job's file, without their ends; first the header. `copies`: so many of each row, under other ad names. */
export function* csvLines(state: AdsState, job: Job, copies: number, spoiling: Spoiling): Generator<string> {
  const columns = [...(job.granularity === 'DAY' ? ['DATE'] : []), ...job.dimensions, ...job.metrics];
  const kept = columns.filter((one) => one !== spoiling.without);
  const shown = spoiling.reordered === true ? ['MYSTERY', ...kept.toReversed()] : kept;
  const cell = spoiling.quoted === true ? always : quoted;
  yield shown.map(cell).join(',');
  const tells = new Map(
    job.metrics.flatMap((name) => {
      const tell = csvMetric(name);
      return tell === undefined ? [] : [[name, tell] as const];
    }),
  );
  let count = 0;
  for (const { names, date, sums } of rowsOf(state, job, spoiling.wild === true)) {
    const numbers: Cells = (column) => tells.get(column)?.(sums);
    const row = shown.map((column) => {
      if (column === 'DATE') return date;
      if (column === 'MYSTERY') return '42';
      return cell(names.get(column) ?? numbers(column) ?? '');
    });
    const position = shown.indexOf('AD_NAME');
    for (let copy = 0; copy < copies; copy += 1) {
      count += 1;
      if (copy > 0 && position >= 0) row[position] = cell(`${names.get('AD_NAME') ?? ''} ${copy}`);
      yield (spoiling.ragged === count ? row.slice(0, -1) : row).join(',');
    }
  }
  if (spoiling.footer === true) yield ['Total', ...shown.slice(1).map(() => '')].join(',');
}

interface CsvRow {
  readonly names: ReadonlyMap<string, string>;
  readonly date: string;
  readonly sums: Sums;
}

/** What the job asked for, day by day, ad by ad. */
function* rowsOf(state: AdsState, job: Job, wild: boolean): Generator<CsvRow> {
  const ads = [...state.ads.values()].flatMap((ad) => {
    const adSet = state.adSets.get(ad.adSetId);
    const campaign = state.campaigns.get(adSet?.campaignId ?? '');
    const wanted =
      ad.accountId === job.accountId &&
      job.statuses.has(reportStatus(campaign, adSet)) &&
      (job.campaignIds.size === 0 || job.campaignIds.has(campaign?.id ?? ''));
    return wanted ? [{ ad, names: namesOf(state, ad, adSet, campaign, wild) }] : [];
  });
  const now = state.clock.now().getTime();
  if (job.granularity === 'LIFETIME') {
    for (const { ad, names } of ads) {
      const from = Math.max(job.from, Math.floor(ad.createdAt / day) * day);
      const sums = sumsOf(state, 'AD', ad.id, from, Math.min(job.to, now));
      if (sums !== undefined) yield { names, date: '', sums };
    }
    return;
  }
  for (let at = job.from; at < Math.min(job.to, now); at += day) {
    const date = new Date(at).toISOString().slice(0, 10);
    for (const { ad, names } of ads) {
      const sums = adDay(state, ad, at);
      if (sums !== undefined) yield { names, date, sums };
    }
  }
}
