/** The ads platform's whole truth at one moment, as rows of the warehouse: texts that are equal exactly where the values are. */

import { csvMetric } from '../../simulators/spotify-ads/fields.ts';
import { adDay } from '../../simulators/spotify-ads/metrics.ts';
import type { AdDraft, AdSetDraft, CampaignDraft } from '../../simulators/spotify-ads/model.ts';
import { type Level, levels } from '../../simulators/spotify-ads/model.ts';
import type { AdsState } from '../../simulators/spotify-ads/state.ts';
import { adsTruth, type TrueRow } from '../../simulators/spotify-ads/truth.ts';
import { metricsOf } from '../../src/connectors/spotify-ads/metrics.ts';

/** A cell as text; null where there is nothing. */
export type Cells = Readonly<Record<string, string | null>>;

/** The rows of one table, and how they hang together. */
export interface PictureOf {
  readonly table: string;
  readonly key: readonly string[];
  /** Rows that switch together are equal in these columns; by default every row stands for itself. */
  readonly whole?: readonly string[];
  /** The stream that fills it. */
  readonly stream: string;
  readonly rows: readonly Cells[];
}

/** All tables, by name without the schema. */
export type Picture = ReadonlyMap<string, PictureOf>;

/** What of the reports a picture shows: days from `from` on, the present one not included. */
export interface Shown {
  readonly from: Date;
  /** Hours from here on; default: as far back as the platform tells. */
  readonly hoursFrom?: Date;
  /** True where the platform has a history of changes. */
  readonly history: boolean;
}

const day = 86_400_000;
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
/** As the platform writes it: whole seconds. */
const instant = (ms: number): string => new Date(Math.floor(ms / 1000) * 1000).toISOString();
const midnight = (at: Date): Date => new Date(Math.floor(at.getTime() / day) * day);

/** A decimal without what does not count: `12.340` and `12.34` are one number. */
export const plain = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
const units = (micros: bigint | undefined): string | null => {
  if (micros === undefined) return null;
  const digits = micros.toString().padStart(7, '0');
  return plain(`${digits.slice(0, -6)}.${digits.slice(-6)}`);
};
const maybe = <T>(value: T | undefined, told: (value: T) => string = String): string | null =>
  value === undefined ? null : told(value);

/** What is true at the platform now. Rows of reports are worked out at once: the picture stays when the clock moves on. */
export function pictureOf(state: AdsState, { from, hoursFrom, history }: Shown): Picture {
  const truth = adsTruth(state);
  const now = state.clock.now();
  const today = midnight(now);
  const oldest = new Date(Math.max(from.getTime(), hoursFrom?.getTime() ?? 0, today.getTime() - 13 * day));
  const drafts = [...state.drafts.values()];
  const currency = (account: string): string | null => state.accounts.get(account)?.currency ?? null;
  const each = (level: (one: Level) => Iterable<TrueRow>, row: (one: TrueRow) => Cells): readonly Cells[] =>
    levels.flatMap((one) => [...level(one)].map(row));
  const updated = (one: { readonly updatedAt: number }): Cells => ({ updated_at: instant(one.updatedAt) });
  const adSets = [...state.adSets.values()];
  const ofAdSets = { stream: 'ad_sets', whole: ['ad_set_id'] };
  const ofEntities = (time: string) => ({
    key: ['entity_type', 'entity_id', time],
    whole: ['ad_account_id', 'entity_type', time],
  });
  const list = (table: string, rows: readonly Cells[], more: Partial<PictureOf> = {}): PictureOf => ({
    table,
    stream: table,
    key: ['id'],
    rows,
    ...more,
  });
  const all: readonly PictureOf[] = [
    list(
      'businesses',
      state.businesses.map((one) => ({
        id: one.id,
        name: one.name,
        type: one.type,
        created_at: instant(one.createdAt),
        ...updated(one),
      })),
    ),
    list(
      'ad_accounts',
      [...state.accounts.values()].map((one) => ({
        id: one.id,
        name: one.name,
        status: one.status,
        website: one.website ?? null,
        currency_code: one.currency,
        country_code: one.country,
        ...updated(one),
      })),
    ),
    list(
      'campaigns',
      [...state.campaigns.values()].map((one) => ({ ...campaign(one), ...updated(one) })),
    ),
    list(
      'ad_sets',
      adSets.map((one) => ({
        ...adSet(one, currency(one.accountId)),
        delivery: one.delivery,
        start_at: instant(one.start),
        end_at: maybe(one.end, instant),
        ...updated(one),
      })),
    ),
    list(
      'ad_set_targets',
      adSets.flatMap(({ id, targets }) =>
        Object.entries(targets).flatMap(([name, value]) =>
          aimsOf(name, value).map((aim) => ({ ad_set_id: id, ...aim })),
        ),
      ),
      { ...ofAdSets, key: ['ad_set_id', 'dimension', 'value'] },
    ),
    list(
      'ad_set_frequency_caps',
      adSets.flatMap(({ id, caps }) =>
        caps.map((cap) => ({
          ad_set_id: id,
          unit: String(cap.frequency_unit),
          period: String(cap.frequency_period),
          max_impressions: String(cap.max_impressions),
        })),
      ),
      { ...ofAdSets, key: ['ad_set_id', 'unit', 'period', 'max_impressions'] },
    ),
    list(
      'ad_set_placements',
      adSets.flatMap(({ id, targets: { placements } }) =>
        [placements ?? []].flat().map((one) => ({ ad_set_id: id, placement: String(one) })),
      ),
      { ...ofAdSets, key: ['ad_set_id', 'placement'] },
    ),
    list(
      'ads',
      [...state.ads.values()].map((one) => ({ ...ad(one), delivery: one.delivery, ...updated(one) })),
    ),
    list(
      'assets',
      [...state.assets.values()].map((one) => ({
        id: one.id,
        ad_account_id: one.accountId,
        name: one.name,
        type: one.type,
        status: one.status,
        archived: one.archived ? 'true' : null,
        url: one.status === 'READY' ? `https://assets.example/${one.id}` : null,
        created_at: instant(one.createdAt),
        ...updated(one),
      })),
    ),
    list(
      'audiences',
      [...state.audiences.values()].map((one) => ({
        id: one.id,
        ad_account_id: one.accountId,
        name: one.name,
        type: one.type,
        subtype: one.subtype,
        lookback_days: maybe(one.lookbackDays),
        status: one.status,
        seed_audience_id: one.seedId ?? null,
        size_min: String(one.size),
        size_max: String(one.size * 2),
        ...updated(one),
      })),
    ),
    list(
      'campaign_drafts',
      drafts.flatMap((one) =>
        one.kind === 'campaign'
          ? [{ ...campaign(one.of), draft_hierarchy_version: String(one.version) }]
          : [],
      ),
    ),
    list(
      'ad_set_drafts',
      drafts.flatMap((one) => (one.kind === 'ad_set' ? [adSet(one.of, currency(one.of.accountId))] : [])),
    ),
    list(
      'ad_drafts',
      drafts.flatMap((one) => (one.kind === 'ad' ? [ad(one.of)] : [])),
    ),
    list(
      'change_history',
      (history ? state.changes : []).map((one) => ({
        id: one.id,
        entity_type: one.entityType,
        entity_id: one.entityId,
        operation: one.operation,
        changed_at: instant(one.at),
      })),
    ),
    list(
      'report_daily',
      each(
        (level) => truth.days(level, from, today),
        (row) => ({ ...reported(state, row), day: dayOf(row.start?.getTime() ?? 0) }),
      ),
      ofEntities('day'),
    ),
    list(
      'report_hourly',
      each(
        (level) => truth.hours(level, oldest, now),
        (row) => ({ ...reported(state, row, notByHour), hour_start: instant(row.start?.getTime() ?? 0) }),
      ),
      ofEntities('hour_start'),
    ),
    list(
      'report_lifetime',
      each(
        (level) => truth.lifetimes(level),
        (row) => ({ ...reported(state, row), captured_on: dayOf(now.getTime()) }),
      ),
      ofEntities('captured_on'),
    ),
    list('report_csv', csvRows(state, from.getTime(), today.getTime()), {
      stream: 'async_reports',
      key: ['ad_account_id', 'day', 'campaign_name', 'ad_set_name', 'ad_name', 'occurrence'],
      whole: ['ad_account_id', 'day'],
    }),
  ];
  return new Map(all.map((one) => [one.table, one]));
}

const campaign = (one: CampaignDraft): Cells => ({
  id: one.id,
  ad_account_id: one.accountId,
  name: one.name,
  status: one.status,
  objective: one.objective ?? null,
  delivery_goal_group: one.goal ?? null,
  purchase_order: one.purchaseOrder ?? null,
});

const adSet = (one: AdSetDraft, currency: string | null): Cells => ({
  id: one.id,
  ad_account_id: one.accountId,
  campaign_id: one.campaignId,
  name: one.name,
  status: one.status,
  category: one.category ?? null,
  asset_format: one.assetFormat ?? null,
  budget: units(one.budget),
  budget_type: one.budget === undefined ? null : (one.budgetType ?? null),
  budget_currency: one.budget === undefined ? null : currency,
  bid: units(one.bid),
  bid_strategy: one.bidStrategy ?? null,
  cost_model: one.costModel ?? null,
  pacing: one.pacing ?? null,
});

const ad = (one: AdDraft): Cells => ({
  id: one.id,
  ad_account_id: one.accountId,
  ad_set_id: one.adSetId,
  name: one.name,
  status: one.status,
  advertiser_name: one.advertiser ?? null,
  companion_asset_id: one.companionId ?? null,
  logo_asset_id: one.logoId ?? null,
  cta_key: one.callToAction?.key ?? null,
  cta_url: one.callToAction?.url ?? null,
  tagline: one.tagline ?? null,
  asset_id: one.assetId ?? null,
});

/** What an ad set aims at in one respect: ranges as `18-34`, what stands in an object by a dotted name. */
function aimsOf(
  dimension: string,
  value: unknown,
): readonly { readonly dimension: string; readonly value: string }[] {
  if (Array.isArray(value)) return value.flatMap((one: unknown) => aimsOf(dimension, one));
  if (typeof value !== 'object' || value === null) return [{ dimension, value: String(value) }];
  if ('min' in value && 'max' in value) return [{ dimension, value: `${value.min}-${value.max}` }];
  return Object.entries(value).flatMap(([name, inner]) => aimsOf(`${dimension}.${name}`, inner));
}

/** The vendor does not tell these by the hour (vendor-facts 2.3): they are not asked for. */
const notByHour: ReadonlySet<string> = new Set(['revenue', 'average_order_value', 'return_on_ad_spend']);

/** The numbers of a row: all that an aggregate report has a column for. */
const reported = (
  state: AdsState,
  { level, id, accountId, fields }: TrueRow,
  without: ReadonlySet<string> = new Set(),
): Cells => ({
  entity_type: level,
  entity_id: id,
  entity_name: nameOf(state, level, id),
  ad_account_id: accountId,
  ...numbers('aggregate', (name) => fields.get(name), without),
});

const nameOf = (state: AdsState, level: Level, id: string): string | null => {
  const of = { AD_ACCOUNT: state.accounts, CAMPAIGN: state.campaigns, AD_SET: state.adSets, AD: state.ads }[
    level
  ];
  return of.get(id)?.name ?? null;
};

/** The metrics of a report by our columns, from what is told by the platform's names. */
export function numbers(
  report: 'aggregate' | 'csv' | 'insight',
  told: (name: string) => string | undefined,
  without: ReadonlySet<string> = new Set(),
): Cells {
  const cells: Record<string, string | null> = {};
  for (const { column, name, flag } of metricsOf(report)) {
    if (without.has(column)) continue;
    const text = told(name);
    // The platform's way to say "1 to 4".
    const isHidden = flag !== undefined && text === '-5';
    cells[column] = text === undefined || isHidden ? null : plain(text);
    if (flag !== undefined) cells[flag] = String(isHidden);
  }
  return cells;
}

/** By name, as the file has them; names are not given twice in an account. */
function csvRows(state: AdsState, from: number, to: number): readonly Cells[] {
  const rows: Cells[] = [];
  for (const one of state.ads.values()) {
    const above = state.adSets.get(one.adSetId);
    for (let at = from; at < to; at += day) {
      const sums = adDay(state, one, at);
      if (sums === undefined) continue;
      rows.push({
        ad_account_id: one.accountId,
        day: dayOf(at),
        campaign_name: state.campaigns.get(above?.campaignId ?? '')?.name ?? '',
        ad_set_name: above?.name ?? '',
        ad_name: one.name,
        occurrence: '0',
        ...numbers('csv', (name) => csvMetric(name)?.(sums)),
      });
    }
  }
  return rows;
}
