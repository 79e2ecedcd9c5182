import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import * as entities from '../../../../../src/connectors/spotify-ads/entities.ts';
import type { Entity } from '../../../../../src/connectors/spotify-ads/fields.ts';
import { BadData } from '../../../../../src/core/errors.ts';
import type { Slice } from '../../../../../src/core/stream.ts';
import { parseInstant } from '../../../../../src/core/time.ts';

const slice: Slice = { partition: { ad_account_id: 'acc' } };
const times = { created_at: '2024-01-02T03:04:05Z', updated_at: '2024-01-03T03:04:05Z' };
const instants = { created_at: parseInstant(times.created_at), updated_at: parseInstant(times.updated_at) };
const flight = { start_time: times.created_at, end_time: times.updated_at };
/** Members whose values are their own names. */
const texts = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, name]));

const campaign = { ...texts('id name status objective delivery_goal_group purchase_order'), ...times };
const adSet = {
  ...texts('id campaign_id name status category asset_format delivery_goal cost_model pacing'),
  ...texts('bid_strategy dataset_id mobile_app_id'),
  budget: { micro_amount: 250_000_000, type: 'DAILY', currency: 'EUR' },
  bid_micro_amount: 1,
  base_rate_micro_amount: 2,
  cost_modifiers: [{ rate: 1.5 }],
  promotion: { promotion_goal: 'ARTIST' },
  video_delivery_formats: ['OPT_IN'],
  slot_positions: ['FIRST'],
  skad_enabled: false,
  targets: {},
  frequency_caps: [],
  ...flight,
  ...times,
};
const ad = {
  ...texts('id ad_set_id name status advertiser_name tagline'),
  assets: texts('asset_id companion_asset_id logo_asset_id canvas_asset_id'),
  call_to_action: texts('key text language clickthrough_url'),
  weight: 1.5,
  catalog: {},
  third_party_tracking: [],
  ...times,
};

const paused = texts('delivery pause_reason reject_reason');
const previewed = texts('delivery ad_preview_url reject_reason');

/** Each entity, and a record with everything that its vendor gives. */
const lists: readonly (readonly [noun: string, Entity, Readonly<Record<string, unknown>>])[] = [
  ['a business', entities.businesses, { ...texts('id name type status'), ...times }],
  [
    'an ad account',
    entities.adAccounts,
    {
      ...texts('id business_id name status status_reason currency_code country_code industry website'),
      ...texts('legal_entity_name tax_id ad_account_role'),
      billing_address: { city: 'Berlin' },
      ...times,
    },
  ],
  ['a campaign', entities.campaigns, campaign],
  ['an ad set', entities.adSets, { ...adSet, ...paused, is_paused: false, reject_reasons: [{}] }],
  ['an ad', entities.ads, { ...ad, ...flight, ...previewed, reject_reasons: [] }],
  [
    'an asset',
    entities.assets,
    {
      ...texts('id name asset_subtype status url file_type aspect_ratio thumbnail_url'),
      asset_type: 'VIDEO',
      archived: true,
      duration_ms: 30_000,
      width: 1,
      height: 2,
      has_audio: true,
      ...times,
    },
  ],
  [
    'an audience',
    entities.audiences,
    {
      ...texts('id name description subtype audience_category status seed_audience_id seed_audience_name'),
      ...texts('exposure_type contract_audience_id'),
      type: 'LOOKALIKE',
      size: { min: 1, max: 9 },
      sources: ['PIXEL'],
      lookalike_audience_ids: ['l'],
      datasets: [{ id: 'd' }],
      included_events: ['i'],
      excluded_events: ['o'],
      lookback_days: 30,
      campaign_ids: ['c'],
      ad_set_ids: ['s'],
      ...times,
    },
  ],
  ['a category', entities.adCategories, texts('id name parent_category')],
  [
    'a change',
    entities.changeHistory,
    {
      ...texts('change_id entity_type entity_id entity_name operation'),
      actor: texts('principal_id principal_type name email category'),
      timestamp: times.created_at,
      changes: [],
    },
  ],
  [
    'a draft campaign',
    entities.campaignDrafts,
    {
      ...campaign,
      draft_hierarchy_version: 3,
      needs_advertiser_review: true,
      ad_account_id: 'acc',
      ...texts('channel ad_product salesforce_opportunity salesforce_sales_order media_plan_id'),
      ...texts('modified_by_role'),
    },
  ],
  [
    'a draft ad set',
    entities.adSetDrafts,
    { ...adSet, ...texts('reservation_id ias_campaign_id success_metric'), draft_hierarchy_version: 1 },
  ],
  [
    'a draft ad',
    entities.adDrafts,
    { ...ad, asset_format: 'AUDIO', placements: ['MUSIC'], dv_client_code: '1', draft_hierarchy_version: 1 },
  ],
];

describe.each(lists)('%s', (noun, { table, transform }, record) => {
  const idName = noun === 'a change' ? 'change_id' : 'id';

  it('fills every column of its table, and knows every member that the vendor gives', () => {
    const { row, notes } = transform(record, slice);
    expect(Object.keys(row).sort()).toEqual(Object.keys(table.columns).sort());
    expect(notes).toBeUndefined();
    expect(Object.keys(row).filter((column) => row[column] === null)).toEqual(['_extra']);
  });

  it('needs nothing but its id; what is missing is null', () => {
    if (noun === 'a change') return;
    const { id: _, ad_account_id: __, is_listed = true, ...rest } = transform({ id: 'x' }, slice).row;
    expect(is_listed).toBe(true);
    for (const value of Object.values(rest)) expect(value ?? []).toEqual([]);
  });

  it('keeps members that are not known, and notes each once', () => {
    const { row, notes } = transform({ ...record, brand_new: { deep: [1] }, nothing: null }, slice);
    expect(row._extra).toBe('{"brand_new":{"deep":[1]}}');
    expect(notes).toEqual(['brand_new: a field that is not known']);
  });

  it.each([undefined, null, '', 7, {}])('with the id %j is rejected', (id) => {
    expect(() => transform({ ...record, [idName]: id }, slice)).toThrow(BadData);
  });

  it('is rejected or read, never broken, whatever its fields hold', () => {
    const strange = fc.dictionary(fc.constantFrom(...Object.keys(record)), fc.jsonValue());
    fc.assert(
      fc.property(strange, (fields) => {
        try {
          const { row } = transform({ ...record, ...fields }, slice);
          expect(Object.keys(row).sort()).toEqual(Object.keys(table.columns).sort());
        } catch (error) {
          if (!(error instanceof BadData)) throw error;
        }
      }),
      { numRuns: 60 },
    );
  });
});

const assetOf = (record: object) => entities.assets.transform({ id: 'x', ...record }, slice);
const change = { change_id: 'h', timestamp: times.created_at, entity_type: 'AD_SET', entity_id: 's' };
const adSetOf = (record: object) => entities.adSets.transform({ id: 's', ...record }, slice);

describe('values of the source', () => {
  it('the kind of an asset or an audience, as the contract says, is its type', () => {
    const audience = entities.audiences.transform({ id: 'u', kind: 'LOOKALIKE' }, slice);
    expect(audience.row).toMatchObject({ type: 'LOOKALIKE', _extra: null });
    expect(assetOf({ kind: 'image' }).row).toMatchObject({ type: 'IMAGE', _extra: null });
    expect(assetOf({ type: 'VIDEO' }).row).toMatchObject({ type: 'VIDEO', _extra: null });
    const _extra = expect.stringContaining('"kind":"jingle"');
    expect(assetOf({ asset_type: 'AUDIO', kind: 'jingle' }).row).toMatchObject({ type: 'AUDIO', _extra });
    const notes = ['kind: expected text, got a number'];
    expect(assetOf({ kind: 7 })).toMatchObject({ row: { type: null }, notes });
  });

  it('of several assets in a list nothing says which is the creative: they are kept as they came', () => {
    const { row, notes } = entities.ads.transform({ id: 'a', assets: ['x', 'y'] }, slice);
    expect(row).toMatchObject({ asset_id: null });
    expect(row._extra).toContain('["x","y"]');
    expect(notes).toEqual(['assets: expected an object, got a list']);
  });

  it('times become instants; what is no time rejects its record', () => {
    expect(entities.campaigns.transform({ id: 'c', ...times }, slice).row).toMatchObject(instants);
    for (const { transform } of [entities.adSets, entities.adSetDrafts])
      expect(() => transform({ id: 's', start_time: 'soon' }, slice)).toThrow(
        /ad set s has a bad start_time/,
      );
  });

  it('times may be counted in milliseconds or in seconds since 1970', () => {
    const ms = Date.parse(times.created_at);
    for (const created_at of [ms, ms / 1000])
      expect(entities.campaigns.transform({ id: 'c', created_at }, slice).row.created_at).toBe(
        parseInstant(ms),
      );
  });

  it('belong to the account whose list they came from; another account in the record is kept and noted', () => {
    const { row, notes } = entities.campaigns.transform({ id: 'c', ad_account_id: 'other' }, slice);
    const _extra = expect.stringContaining('"_raw":"other"');
    expect(row).toMatchObject({ ad_account_id: 'acc', _extra });
    expect(notes).toHaveLength(1);
    expect(() => entities.campaigns.transform({ id: 'c' }, {})).toThrow(/no partition key ad_account_id/);
  });

  it('the second of two members for one column is kept and noted', () => {
    const sound = { asset_type: 'AUDIO', audio_type: 'BACKGROUND_MUSIC' };
    expect(assetOf(sound).row).toMatchObject({ subtype: 'BACKGROUND_MUSIC', _extra: null });
    const { row, notes } = assetOf({ ...sound, asset_subtype: 'USER_UPLOADED_AUDIO' });
    const kept = '{"audio_type":"BACKGROUND_MUSIC"}';
    expect(row).toMatchObject({ subtype: 'USER_UPLOADED_AUDIO', _extra: kept });
    expect(notes).toEqual(['audio_type: given beside asset_subtype']);
  });

  it('an unknown member of an object or of list elements is kept by its place and noted once by its path', () => {
    expect(adSetOf({ budget: { micro_amount: 1, cap: true } })).toMatchObject({
      row: { _extra: '{"budget.cap":true}' },
      notes: ['budget.cap: a field that is not known'],
    });
    const cap = { frequency_unit: 'DAY', frequency_period: 1, max_impressions: 5 };
    const capped = adSetOf({ frequency_caps: [cap, { ...cap, frequency_period: 7, per: 'USER' }] });
    expect(capped.children.frequency_caps).toHaveLength(2);
    expect(capped.row._extra).toBe('{"frequency_caps[1].per":"USER"}');
    expect(capped.notes).toEqual(['frequency_caps[].per: a field that is not known']);
    const item = { field_type: 'bidAmount', reason: { by: 'RULE' } };
    const changed = entities.changeHistory.transform({ ...change, changes: [item, item] }, slice);
    expect(changed.row._extra).toBe('{"changes[0].reason":{"by":"RULE"},"changes[1].reason":{"by":"RULE"}}');
    expect(changed.notes).toEqual(['changes[].reason: a field that is not known']);
  });

  it('a change keeps the fields it changed, in order, as delivered', () => {
    const of = { field_type: 'bidAmount', display_label: 'Bid Amount', change_category: 'BUDGET' };
    const valued = { ...of, before: { value: 1 }, after: { value: 2 } };
    const record = { ...change, changes: [valued, { field_type: 'status', before: null }] };
    const none = { display_label: null, change_category: null, before: null, after: null };
    expect(entities.changeHistory.transform(record, slice).children.items).toEqual([
      { change_id: 'h', item: 0, ...of, before: '{"value":1}', after: '{"value":2}' },
      { change_id: 'h', item: 1, field_type: 'status', ...none },
    ]);
    const rejected = (more: object) => () => entities.changeHistory.transform({ ...record, ...more }, slice);
    // A field that cannot be read costs itself alone (guarantee G12).
    const inPart = entities.changeHistory.transform({ ...record, changes: [7, valued] }, slice);
    expect(inPart.badParts).toMatchObject([{ child: 'items', part: 7, error: { field: 'changes[0]' } }]);
    expect(inPart.children.items).toMatchObject([{ change_id: 'h', item: 1 }]);
    expect(rejected({ timestamp: undefined })).toThrow(/has no timestamp/);
  });
});

describe('targeting', () => {
  const rows = (targets: unknown) =>
    (adSetOf({ targets }).children.targets ?? []).map(({ dimension, value }) => `${dimension}: ${value}`);

  it('is exploded, one row a value', () => {
    expect(
      rows({
        age_ranges: [{ min: 18, max: 24 }, { min: 65 }],
        genders: ['FEMALE', 'NON_BINARY', 'FEMALE'],
        geo_targets: { country_code: 'DE', city_ids: ['1', '2'], postal_code_ids: ['US:73170'] },
        language: 'de',
        sensitive_topic_exclusions: {
          topics: [{ id: 'war', filter_option: 'LIMITED' }],
          filter_option: 'STANDARD',
        },
        user_day_parts: [
          { day_of_week: ['MONDAY', 'FRIDAY'], hour_of_day: [{ min: 9, max: 17 }] },
          { day_of_week: ['SUNDAY'], hour_of_day: null },
        ],
        audience_ids_exclusions: ['u'],
        new_dimension: [{ odd: [1.5] }],
        nested: { deeper: { flag: true, amount: 12 } },
        nothing: null,
      }),
    ).toEqual([
      'age_ranges: 18-24',
      'age_ranges: 65-',
      'genders: FEMALE',
      'genders: NON_BINARY',
      'geo_targets.country_code: DE',
      'geo_targets.city_ids: 1',
      'geo_targets.city_ids: 2',
      'geo_targets.postal_code_ids: US:73170',
      'language: de',
      'sensitive_topic_exclusions.topics: war=LIMITED',
      'sensitive_topic_exclusions.filter_option: STANDARD',
      'user_day_parts: MONDAY 9-17',
      'user_day_parts: FRIDAY 9-17',
      'user_day_parts: SUNDAY',
      'audience_ids_exclusions: u',
      'new_dimension: {"odd":[1.5]}',
      'nested.deeper.flag: true',
      'nested.deeper.amount: 12',
    ]);
  });

  it('stays whole beside, also a value that is too long for a row of its own', () => {
    const { row, children, notes } = adSetOf({ targets: { artist_ids: ['x'.repeat(3000)] } });
    expect(row.targets).toBe(`{"artist_ids":["${'x'.repeat(3000)}"]}`);
    expect(children.targets).toEqual([]);
    expect(notes).toHaveLength(1);
  });

  it('caps and placements become rows; one that says too little is rejected by itself', () => {
    const cap = { frequency_unit: 'DAY', frequency_period: 1, max_impressions: 5 };
    const { children, badParts } = adSetOf({
      targets: { placements: ['MUSIC', 'PODCAST', 5, 'MUSIC'], genders: ['MALE\0'], languages: ['en'] },
      frequency_caps: [cap, { frequency_unit: 'WEEK' }],
    });
    expect(children.frequency_caps).toEqual([{ ad_set_id: 's', unit: 'DAY', period: 1, max_impressions: 5 }]);
    const placements = ['MUSIC', 'PODCAST'].map((placement) => ({ ad_set_id: 's', placement }));
    expect(children.placements).toEqual(placements);
    expect(badParts?.map(({ child, part }) => [child, part])).toEqual([
      ['targets', ['MALE\0']],
      ['frequency_caps', { frequency_unit: 'WEEK' }],
      ['placements', 5],
    ]);
    expect(children.targets).toContainEqual({ ad_set_id: 's', dimension: 'languages', value: 'en' });
  });

  it('that is absent is empty: rows that an ad set no longer has are deleted', () => {
    expect(adSetOf({}).children).toEqual({ targets: [], frequency_caps: [], placements: [] });
  });
});
