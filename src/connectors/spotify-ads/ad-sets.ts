/** Ad sets and their drafts: fields, targeting, frequency caps and placements. */

import { decimalText } from '../../core/decimal.ts';
import { ExactNumber } from '../../core/json.ts';
import { isObject, type JsonObject, own } from '../../core/record-object.ts';
import type { Reading } from '../../core/record-reader.ts';
import { int4, keyText, list, object, text as textIn } from '../../core/record-values.ts';
import type { Json } from '../../core/request.ts';
import type { Mapped } from '../../core/stream.ts';
import * as columns from '../../core/table.ts';
import { changed, draftVersion, firstSynced, ofAccount } from './entities.ts';
import { bool, entity, instant, json, keepNews, key, money, text, texts, textsIn } from './fields.ts';

/** What ad sets and their drafts share. */
const fields = {
  id: key('Ad set id of the source; a UUID as a rule.'),
  ...ofAccount,
  campaign_id: text('The campaign, see ads.campaigns.id (of a draft: ads.campaign_drafts.id).'),
  name: text('Name as people see it.'),
  status: text('Status as the source names it, e.g. ACTIVE, COMPLETED, ARCHIVED.'),
  category: text('Advertising category, see ads.ad_categories.id.'),
  asset_format: text('AUDIO, VIDEO, IMAGE or CATALOG.'),
  delivery_goal: text('What delivery is optimised for.'),
  cost_model: text('How it is charged: CPM (per thousand impressions) or CPCL (per completed listen).'),
  pacing: text('How the budget is spread: PACING_EVEN or PACING_ASAP.'),
  start_at: instant('When delivery starts or started (UTC).', 'start_time'),
  end_at: instant('When delivery is planned to end (UTC); null if it runs until it is stopped.', 'end_time'),
  // The contract says that a budget is a micro-amount, and not how it is written.
  budget: money('ad_set.budget')(
    'Budget in units of budget_currency; a day or the lifetime, see budget_type.',
    ...['budget.micro_amount', 'budget.amount_micros', 'budget.amount', 'budget', 'budget_micro_amount'],
  ),
  budget_type: text('DAILY or LIFETIME.', 'budget.type', 'budget_type'),
  budget_currency: text(
    "ISO 4217 currency of budget, bid and base rate: the ad account's; null where the source does not repeat it.",
    ...['budget.currency', 'budget_currency'],
  ),
  bid: money('ad_set.bid')(
    'Bid in units of budget_currency, per 1000 impressions or per result as the bid strategy says.',
    'bid_micro_amount',
  ),
  bid_strategy: text('MAX_BID, COST_PER_RESULT or AUTOBID.'),
  base_rate: money('ad_set.base_rate')(
    'Base rate in units of budget_currency, per 1000 impressions or actions.',
    'base_rate_micro_amount',
  ),
  cost_modifiers: json('Rates that modify the base rate, as delivered: id, name, rate (a factor).'),
  promotion: json('What is promoted (artist or podcast), as delivered.'),
  dataset_id: text('Dataset that conversions are counted with.'),
  mobile_app_id: text('Mobile app that is promoted.'),
  video_delivery_formats: texts('How videos are shown: IN_STREAM, OPT_IN.'),
  slot_positions: texts('Positions among the ads of a break.'),
  skad_enabled: bool("True where conversions are counted by Apple's SKAdNetwork."),
  targets: json('Targeting as delivered; of live ad sets one row a value in ads.ad_set_targets.'),
  ...changed,
};

export const adSetDrafts = entity(
  'ads.ad_set_drafts',
  'draft ad set',
  'Draft ad sets, one row each; not live. A draft shares its id with the live ad set it came from or becomes.',
  {
    ...fields,
    ...draftVersion,
    frequency_caps: json('How often one person may hear it, as delivered.'),
    reservation_id: text('Reservation it uses.'),
    ias_campaign_id: text('Campaign at Integral Ad Science.'),
    success_metric: text('What success is measured by.'),
  },
  { wide: true, indexes: ['(source_id, ad_account_id)'] },
);

const adSetId = columns.text('The ad set, see ads.ad_sets.id.').key();

const targets = columns.table(
  'ads.ad_set_targets',
  'Targeting of ad sets, exploded; one row per ad set, dimension and value.',
  {
    ad_set_id: adSetId,
    dimension: columns
      .text(
        'What is targeted: the name in targets, nested ones with a dot, e.g. genders, geo_targets.country_code, audience_ids_exclusions.',
      )
      .key(),
    value: columns
      .text(
        'One value as text: 18-24 for age_ranges, MONDAY 9-17 for user_day_parts (hours inclusive), topic=filter for sensitive topics.',
      )
      .key(),
  },
  { relation: true, indexes: ['(source_id, dimension, value)'] },
);

const frequencyCaps = columns.table(
  'ads.ad_set_frequency_caps',
  'How often one person may hear an ad set; one row per ad set and cap.',
  {
    ad_set_id: adSetId,
    unit: columns.text('DAY, WEEK or MONTH.').key(),
    period: columns.int('How many of these units.').key(),
    max_impressions: columns.int('At most so many impressions a person in that time.').key(),
  },
  { relation: true },
);

const placements = columns.table(
  'ads.ad_set_placements',
  'Where ad sets are placed; one row per ad set and placement.',
  {
    ad_set_id: adSetId,
    placement: columns.text('MUSIC or PODCAST, or what the source names.').key(),
  },
  { relation: true },
);

/** An index entry holds about 2,600 bytes: id, dimension and value together. */
const longestTargetBytes = 2000;

/** A scalar as text; undefined for null, lists and objects. */
const scalar = (value: Json): string | undefined => {
  if (typeof value === 'number' || value instanceof ExactNumber) return decimalText(value);
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : undefined;
};

/** `{min: 18, max: 24}` → `18-24`; an open side is empty. */
const range = (value: Json): string | undefined => {
  if (!isObject(value)) return undefined;
  const sides = [own(value, 'min'), own(value, 'max')].map((side) => scalar(side) ?? '');
  return sides.every((side) => side === '') ? undefined : sides.join('-');
};

/**
 * `{day_of_week: [MONDAY], hour_of_day: [{min: 9, max: 17}]}` → `MONDAY 9-17`; without hours the whole day, without days
 * every day.
 */
const dayParts = (value: Json): readonly string[] | undefined => {
  if (!isObject(value)) return undefined;
  const elements = (name: string): readonly Json[] => [own(value, name) ?? []].flat();
  const days = elements('day_of_week').map(scalar);
  const hours = elements('hour_of_day').map(range);
  if ([...days, ...hours].includes(undefined) || days.length + hours.length === 0) return undefined;
  if (days.length === 0) return hours.map(String);
  return days.flatMap((day) => (hours.length === 0 ? [String(day)] : hours.map((hour) => `${day} ${hour}`)));
};

/** `{id: 'war', filter_option: 'LIMITED'}` → `war=LIMITED`. */
const topic = (value: Json): string | undefined => {
  if (!isObject(value)) return undefined;
  const id = scalar(own(value, 'id'));
  return id === undefined ? undefined : `${id}=${scalar(own(value, 'filter_option')) ?? ''}`;
};

/** Dimensions whose elements are objects that read as one value each (vendor's OpenAPI, `Targets`). */
const readers: Readonly<Record<string, (value: Json) => string | readonly string[] | undefined>> = {
  age_ranges: range,
  user_day_parts: dayParts,
  'sensitive_topic_exclusions.topics': topic,
};

/** Every [dimension, value]: scalars as text, members of objects with a dot, unknown objects in lists as JSON. */
function* valuesOf(
  r: Reading,
  dimension: string,
  value: Json,
  inList = false,
): Generator<readonly [dimension: string, value: string]> {
  if (value === null || value === undefined) return;
  const read = readers[dimension]?.(value) ?? scalar(value);
  if (Array.isArray(value)) for (const each of value) yield* valuesOf(r, dimension, each, true);
  else if (read !== undefined) for (const each of [read].flat()) yield [dimension, each];
  else if (inList) yield [dimension, r.json(`targets.${dimension}`, value)];
  else if (isObject(value))
    for (const [name, inner] of Object.entries(value)) yield* valuesOf(r, `${dimension}.${name}`, inner);
}

const targetRows = (r: Reading, id: string, adSet: JsonObject) => {
  const rows = new Map<string, columns.RowOf<typeof targets>>();
  for (const [name, target] of Object.entries(object(r, adSet, 'targets') ?? {}))
    for (const [dimension, value] of valuesOf(r, name, target)) {
      if (Buffer.byteLength(dimension + value) > longestTargetBytes)
        r.note('targets: a value too long for a row of its own; it is in ad_sets.targets only');
      else
        rows.set(`${dimension}\n${value}`, {
          ad_set_id: id,
          dimension: keyText(r, 'targets', dimension),
          value: keyText(r, `targets.${dimension}`, value),
        });
    }
  return [...rows.values()];
};

const capMembers = new Set(['frequency_unit', 'frequency_period', 'max_impressions']);

/** A cap that does not say unit, period and number is kept in `_extra` with a note. */
const capRows = (r: Reading, id: string, adSet: JsonObject) =>
  list(r, adSet, 'frequency_caps').flatMap((cap, index) => {
    const at = r.element('frequency_caps', index);
    const given = isObject(cap) ? cap : {};
    const unit = textIn(at, given, 'frequency_unit');
    const period = int4(at, given, 'frequency_period');
    const most = int4(at, given, 'max_impressions');
    if (unit === null || period === null || most === null) {
      at.flip('cap', cap, 'unit, period and number of impressions');
      return [];
    }
    keepNews(at, given, capMembers, '', 'frequency_caps[].');
    return [{ ad_set_id: id, unit: keyText(at, 'frequency_unit', unit), period, max_impressions: most }];
  });

const placementRows = (r: Reading, id: string, adSet: JsonObject) => {
  const found = textsIn(r, object(r, adSet, 'targets') ?? {}, 'placements', 'targets.placements');
  return [...new Set(found)].map((placement) => ({
    ad_set_id: id,
    placement: keyText(r, 'targets.placements', placement),
  }));
};

/** A member that is absent is empty. A list that cannot be read to its end is partial: no row of it is deleted. */
const partsOf = (r: Reading, adSet: JsonObject, id: string): Pick<Mapped, 'children' | 'partial'> => {
  const caps = capRows(r, id, adSet);
  const children = {
    targets: targetRows(r, id, adSet),
    frequency_caps: caps,
    placements: placementRows(r, id, adSet),
  };
  const targeting = own(adSet, 'targets') ?? {};
  const placed = isObject(targeting) ? (own(targeting, 'placements') ?? []) : undefined;
  const capped = own(adSet, 'frequency_caps') ?? [];
  const isWhole = {
    targets: isObject(targeting),
    frequency_caps: Array.isArray(capped) && capped.length === caps.length,
    placements: Array.isArray(placed) && placed.every((each) => typeof each === 'string'),
  };
  const partial = Object.entries(isWhole).flatMap(([name, whole]) => (whole ? [] : [name]));
  return { children, ...(partial.length > 0 && { partial }) };
};

export const adSets = entity(
  'ads.ad_sets',
  'ad set',
  'Ad sets that are or were live, one row each: budget, bid, flight and targeting.',
  {
    ...fields,
    delivery: text('ON or OFF.'),
    is_paused: bool('True while it is paused.'),
    pause_reason: text('Why it is paused, e.g. USER_PAUSED.'),
    reject_reason: text('Why it was rejected.'),
    reject_reasons: json('Why it was rejected, in parts, as delivered.'),
  },
  {
    others: ['frequency_caps'],
    children: {
      targets: { table: targets, parent: ['ad_set_id'], absent: 'deleted' },
      frequency_caps: { table: frequencyCaps, parent: ['ad_set_id'], absent: 'deleted' },
      placements: { table: placements, parent: ['ad_set_id'], absent: 'deleted' },
    },
    parts: partsOf,
    firstSynced,
    wide: true,
    indexes: ['(source_id, ad_account_id)', '(source_id, campaign_id)'],
    versions: {
      into: 'ads.ad_set_versions',
      about:
        'Status, budget and bid of ad sets over time; one row per ad set and version. Seen, so as fine as the sync is frequent.',
      columns: ['status', 'budget', 'budget_type', 'budget_currency', 'bid', 'bid_strategy'],
      changed: 'updated_at',
    },
  },
);
