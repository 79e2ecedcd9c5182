import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as tables from '../../../../../src/connectors/spotify-ads/tables.ts';
import * as transform from '../../../../../src/connectors/spotify-ads/transform.ts';
import { BadData } from '../../../../../src/core/errors.ts';
import type { Flow, Slice } from '../../../../../src/core/stream.ts';
import type { Table } from '../../../../../src/core/table.ts';
import { parseInstant } from '../../../../../src/core/time.ts';

const slice: Slice = { partition: { ad_account_id: 'acc' } };
const times = { created_at: '2024-01-02T03:04:05Z', updated_at: '2024-01-03T03:04:05Z' };
const instants = { created_at: parseInstant(times.created_at), updated_at: parseInstant(times.updated_at) };

/** Every list's transform, its table and a record with everything that its vendor gives. */
const lists: readonly (readonly [string, Flow['via'], Table, Readonly<Record<string, unknown>>])[] = [
  [
    'a business',
    transform.business,
    tables.businesses as Table,
    { id: 'b', name: 'B', type: 'AGENCY', status: 'ACTIVE', ...times },
  ],
  [
    'an ad account',
    transform.adAccount,
    tables.adAccounts as Table,
    {
      ...{
        id: 'acc',
        business_id: 'b',
        name: 'A',
        status: 'ACTIVE',
        status_reason: '',
        currency_code: 'EUR',
      },
      ...{ country_code: 'DE', industry: 'i', website: 'w', legal_entity_name: 'l', tax_id: 't' },
      ...{ billing_address: { city: 'Berlin' }, ad_account_role: 'AD_ACCOUNT_VIEWER', ...times },
    },
  ],
  [
    'a campaign',
    transform.campaign,
    tables.campaigns as Table,
    {
      ...{ id: 'c', name: 'C', status: 'ACTIVE', objective: 'REACH', delivery_goal_group: 'AWARENESS' },
      ...{ purchase_order: '1', ad_account_id: 'acc', ...times },
    },
  ],
  [
    'an ad set',
    transform.adSet,
    tables.adSets as Table,
    {
      ...{
        id: 's',
        campaign_id: 'c',
        name: 'S',
        status: 'ACTIVE',
        category: 'ADV_1_6',
        asset_format: 'AUDIO',
      },
      ...{
        delivery_goal: 'REACH',
        cost_model: 'CPM',
        pacing: 'PACING_EVEN',
        start_time: times.created_at,
        end_time: null,
      },
      ...{ budget: { micro_amount: 250_000_000, type: 'DAILY', currency: 'EUR' }, bid_strategy: 'MAX_BID' },
      ...{ bid_micro_amount: 1, base_rate_micro_amount: 2, cost_modifiers: [{ rate: 1.5 }], dataset_id: 'd' },
      ...{
        promotion: { promotion_goal: 'ARTIST_PROMO' },
        mobile_app_id: 'm',
        video_delivery_formats: ['OPT_IN'],
      },
      ...{ slot_positions: ['FIRST'], skad_enabled: false, targets: {}, frequency_caps: [], delivery: 'ON' },
      ...{
        is_paused: false,
        pause_reason: 'USER_PAUSED',
        reject_reason: 'r',
        reject_reasons: [{}],
        ...times,
      },
    },
  ],
  [
    'an ad',
    transform.ad,
    tables.ads as Table,
    {
      ...{
        id: 'a',
        ad_set_id: 's',
        name: 'A',
        status: 'APPROVED',
        advertiser_name: 'Adv',
        tagline: 'T',
        delivery: 'ON',
      },
      ...{
        assets: { asset_id: 'x', companion_asset_id: 'y', logo_asset_id: 'z', canvas_asset_id: 'v' },
        weight: 1.5,
      },
      ...{
        call_to_action: { key: 'K', text: 'Go', language: 'en', clickthrough_url: 'https://e' },
        catalog: {},
      },
      ...{
        third_party_tracking: [],
        start_time: times.created_at,
        end_time: times.updated_at,
        ad_preview_url: 'p',
      },
      ...{ reject_reason: 'r', reject_reasons: [], ...times },
    },
  ],
  [
    'an asset',
    transform.asset,
    tables.assets as Table,
    {
      ...{
        id: 'x',
        name: 'X',
        asset_type: 'VIDEO',
        asset_subtype: 'u',
        status: 'READY',
        archived: true,
        url: 'https://x',
      },
      ...{
        file_type: 'MP4',
        duration_ms: 30_000,
        width: 1,
        height: 2,
        aspect_ratio: 'SQUARE',
        has_audio: true,
      },
      ...{ thumbnail_url: 'https://t', ...times },
    },
  ],
  [
    'an audience',
    transform.audience,
    tables.audiences as Table,
    {
      ...{
        id: 'u',
        name: 'U',
        description: 'd',
        type: 'LOOKALIKE',
        subtype: 'WEB_EVENT',
        audience_category: 'CUSTOM',
      },
      ...{
        status: 'LIVE',
        size: { min: 1, max: 9 },
        sources: ['PIXEL'],
        seed_audience_id: 'e',
        seed_audience_name: 'E',
      },
      ...{
        lookalike_audience_ids: ['l'],
        datasets: [{ id: 'd' }],
        included_events: ['i'],
        excluded_events: ['o'],
      },
      ...{
        lookback_days: 30,
        campaign_ids: ['c'],
        ad_set_ids: ['s'],
        exposure_type: 'CLICKS',
        contract_audience_id: 'k',
      },
      ...times,
    },
  ],
  [
    'a category',
    transform.adCategory,
    tables.adCategories as Table,
    { id: 'ADV_1_6', name: 'Cars', parent_category: 'P' },
  ],
  [
    'a change',
    transform.change,
    tables.changeHistory as Table,
    {
      ...{
        change_id: 'h',
        timestamp: times.created_at,
        entity_type: 'AD_SET',
        entity_id: 's',
        entity_name: 'S',
      },
      ...{ operation: 'CHANGED', changes: [] },
      actor: {
        principal_id: 'p',
        principal_type: 'USER',
        name: 'Ann',
        email: null,
        category: 'ADVERTISER_USER',
      },
    },
  ],
  [
    'a draft campaign',
    transform.campaignDraft,
    tables.campaignDrafts as Table,
    {
      ...{
        id: 'c',
        ad_account_id: 'acc',
        name: 'C',
        draft_hierarchy_version: 3,
        channel: 'UNSET',
        ad_product: 'UNSET',
      },
      ...{
        salesforce_opportunity: 'o',
        salesforce_sales_order: 'p',
        media_plan_id: 'm',
        needs_advertiser_review: true,
      },
      ...{ modified_by_role: 'ADVERTISER', status: 'ACTIVE_RESTRICTED', ...times },
    },
  ],
  [
    'a draft ad set',
    transform.adSetDraft,
    tables.adSetDrafts as Table,
    {
      ...{
        id: 's',
        campaign_id: 'c',
        draft_hierarchy_version: null,
        frequency_caps: [],
        reservation_id: 'r',
      },
      ...{ ias_campaign_id: 'i', success_metric: 'm', ...times },
    },
  ],
  [
    'a draft ad',
    transform.adDraft,
    tables.adDrafts as Table,
    {
      id: 'a',
      ad_set_id: 's',
      asset_format: 'AUDIO',
      placements: ['MUSIC'],
      dv_client_code: '1',
      weight: null,
      ...times,
    },
  ],
];
const idKey = (table: Table): string => (table.name === 'change_history' ? 'change_id' : 'id');

describe.each(lists)('%s', (_, via, table, record) => {
  it('fills every column of its table, and nothing that the vendor gives is news', () => {
    const { row, notes } = via(record, slice);
    expect(Object.keys(row).sort()).toEqual(Object.keys(table.columns).sort());
    expect(row._extra).toBeNull();
    expect(notes).toBeUndefined();
    const lost = Object.entries(record).filter(
      ([key, value]) => key in table.columns && value !== null && row[key] === null,
    );
    expect(lost).toEqual([]);
  });

  it('needs nothing but its id; what is missing is null', () => {
    if (table.name === 'change_history') return;
    const { row } = via({ id: 'x' }, slice);
    const filled = Object.entries(row).filter(
      ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
    );
    expect(filled.every(([column]) => ['id', 'ad_account_id'].includes(column))).toBe(true);
  });

  it('keeps what nobody knew, and notes each field once', () => {
    const { row, notes } = via({ ...record, brand_new: { deep: [1] }, nothing: null }, slice);
    expect(row._extra).toBe('{"brand_new":{"deep":[1]}}');
    expect(notes).toEqual(['brand_new: a field that is not known']);
  });

  it.each([undefined, null, '', 7, {}])('with the id %j is rejected', (id) => {
    expect(() => via({ ...record, [idKey(table)]: id }, slice)).toThrow(BadData);
  });

  it('is rejected or read, never broken, whatever its fields hold', () => {
    const strange = fc.dictionary(fc.constantFrom(...Object.keys(record)), fc.jsonValue());
    fc.assert(
      fc.property(strange, (fields) => {
        try {
          const { row } = via({ ...record, ...fields }, slice);
          expect(Object.keys(row).sort()).toEqual(Object.keys(table.columns).sort());
        } catch (error) {
          if (!(error instanceof BadData)) throw error;
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe('words and times of the source', () => {
  it('a word that is new stays as it is, and is noted', () => {
    const { row, notes } = transform.campaign({ id: 'c', status: 'HIBERNATING' }, slice);
    expect(row).toMatchObject({ status: 'HIBERNATING', _extra: null });
    expect(notes).toEqual(['status: a value that is not known: HIBERNATING']);
  });

  it('what the contract calls the kind of an asset or an audience is its type', () => {
    expect(transform.asset({ id: 'x', kind: 'image' }, slice).row).toMatchObject({
      type: 'IMAGE',
      _extra: null,
    });
    expect(transform.audience({ id: 'u', kind: 'LOOKALIKE' }, slice)).toMatchObject({
      row: { type: 'LOOKALIKE', _extra: null },
    });
    expect(transform.asset({ id: 'x', type: 'VIDEO' }, slice).row).toMatchObject({
      type: 'VIDEO',
      _extra: null,
    });
    const both = transform.asset({ id: 'x', asset_type: 'AUDIO', kind: 'jingle' }, slice).row;
    expect(both).toMatchObject({ type: 'AUDIO' });
    expect(both._extra).toContain('"kind":"jingle"');
    const { row, notes } = transform.asset({ id: 'x', kind: 7 }, slice);
    expect(row).toMatchObject({ type: null });
    expect(notes).toEqual(['asset_type: expected text, got a number']);
  });

  it.each([
    { assets: ['x'], _extra: null },
    { assets: [{ asset_id: 'x' }], _extra: null },
    { assets: [{ id: 'x', role: 'main' }], _extra: '{"assets.role":"main"}' },
  ])('the one asset of a list is the creative of its ad: $assets', ({ assets, _extra }) => {
    expect(transform.ad({ id: 'a', assets }, slice).row).toMatchObject({ asset_id: 'x', _extra });
    expect(transform.adDraft({ id: 'a', assets }, slice).row).toMatchObject({ asset_id: 'x', _extra });
  });

  it('of several assets in a list nothing says which is the creative: they are kept as they came', () => {
    const { row, notes } = transform.ad({ id: 'a', assets: ['x', 'y'] }, slice);
    expect(row).toMatchObject({ asset_id: null });
    expect(row._extra).toContain('["x","y"]');
    expect(notes).toEqual(['assets: expected an object, got a list']);
  });

  it('times become instants; what is no time rejects what is live, and is kept in a draft', () => {
    expect(transform.campaign({ id: 'c', ...times }, slice).row).toMatchObject(instants);
    expect(() => transform.adSet({ id: 's', start_time: 'soon' }, slice)).toThrow(
      /ad set s has a bad start_time/,
    );
    const { row, notes } = transform.adSetDraft({ id: 's', start_time: 'soon', end_time: '' }, slice);
    expect(row).toMatchObject({ start_at: null, end_at: null });
    expect(row._extra).toContain('"_raw":"soon"');
    expect(notes).toEqual(['start_time: expected an instant, got text']);
  });

  it('times may be counted in milliseconds or in seconds since 1970', () => {
    const ms = Date.parse(times.created_at);
    for (const told of [ms, Math.floor(ms / 1000)])
      expect(transform.campaign({ id: 'c', created_at: told }, slice).row.created_at).toBe(
        parseInstant(told === ms ? ms : Math.floor(ms / 1000) * 1000),
      );
  });

  it('belong to the account whose list they came from; another one told is kept and noted', () => {
    const { row, notes } = transform.campaign({ id: 'c', ad_account_id: 'other' }, slice);
    expect(row.ad_account_id).toBe('acc');
    expect(row._extra).toContain('"_raw":"other"');
    expect(notes).toHaveLength(1);
    expect(() => transform.campaign({ id: 'c' }, {})).toThrow(/no partition key ad_account_id/);
  });

  it('of two words for what an asset is the second is kept beside the first', () => {
    const sound = { id: 'x', asset_type: 'AUDIO', audio_type: 'BACKGROUND_MUSIC' };
    expect(transform.asset(sound, slice)).toMatchObject({
      row: { subtype: 'BACKGROUND_MUSIC', _extra: null },
    });
    const { row, notes } = transform.asset({ ...sound, asset_subtype: 'USER_UPLOADED_AUDIO' }, slice);
    expect(row).toMatchObject({
      subtype: 'USER_UPLOADED_AUDIO',
      _extra: '{"audio_type":"BACKGROUND_MUSIC"}',
    });
    expect(notes).toEqual(['audio_type: told beside asset_subtype']);
  });

  it('news within an object is told by its path', () => {
    const { row, notes } = transform.adSet({ id: 's', budget: { micro_amount: 1, cap: true } }, slice);
    expect(row._extra).toBe('{"budget.cap":true}');
    expect(notes).toEqual(['budget.cap: a field that is not known']);
  });

  it('news within the elements of a list is kept with its place and told once', () => {
    const cap = { frequency_unit: 'DAY', frequency_period: 1, max_impressions: 5 };
    const capped = transform.adSet(
      { id: 's', frequency_caps: [cap, { ...cap, frequency_period: 7, per: 'USER' }] },
      slice,
    );
    expect(capped.children.frequency_caps).toHaveLength(2);
    expect(capped.row._extra).toBe('{"frequency_caps[1].per":"USER"}');
    expect(capped.notes).toEqual(['frequency_caps[].per: a field that is not known']);
    const record = { change_id: 'h', timestamp: times.created_at, entity_type: 'AD_SET', entity_id: 's' };
    const item = { field_type: 'bidAmount', reason: { by: 'RULE' } };
    const changed = transform.change({ ...record, changes: [item, item] }, slice);
    expect(changed.row._extra).toBe('{"changes[0].reason":{"by":"RULE"},"changes[1].reason":{"by":"RULE"}}');
    expect(changed.notes).toEqual(['changes[].reason: a field that is not known']);
  });

  it('a change keeps the fields it changed, in order, as delivered', () => {
    const record = {
      ...{ change_id: 'h', timestamp: times.created_at, entity_type: 'AD_SET', entity_id: 's' },
      changes: [
        {
          field_type: 'bidAmount',
          display_label: 'Bid Amount',
          change_category: 'BUDGET',
          before: { value: 1 },
          after: { value: 2 },
        },
        { field_type: 'status', before: null },
      ],
    };
    expect(transform.change(record, slice).children.items).toEqual([
      {
        change_id: 'h',
        item: 0,
        field_type: 'bidAmount',
        display_label: 'Bid Amount',
        change_category: 'BUDGET',
        before: '{"value":1}',
        after: '{"value":2}',
      },
      {
        change_id: 'h',
        item: 1,
        field_type: 'status',
        display_label: null,
        change_category: null,
        before: null,
        after: null,
      },
    ]);
    expect(() => transform.change({ ...record, changes: [7] }, slice)).toThrow(/changes\[0\]/);
    expect(() => transform.change({ ...record, timestamp: undefined }, slice)).toThrow(/has no timestamp/);
  });
});

describe('targeting', () => {
  const rows = (targets: unknown) =>
    (transform.adSet({ id: 's', targets }, slice).children.targets ?? []).map(
      ({ dimension, value }) => `${dimension}: ${value}`,
    );

  it('is exploded, one row a value', () => {
    expect(
      rows({
        age_ranges: [{ min: 18, max: 24 }, { min: 65 }],
        genders: ['FEMALE', 'NON_BINARY', 'FEMALE'],
        geo_targets: {
          country_code: 'DE',
          city_ids: ['1', '2'],
          postal_code_ids: ['US:73170'],
          region_ids: [],
        },
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
      ...['age_ranges: 18-24', 'age_ranges: 65-', 'genders: FEMALE', 'genders: NON_BINARY'],
      ...['geo_targets.country_code: DE', 'geo_targets.city_ids: 1', 'geo_targets.city_ids: 2'],
      ...[
        'geo_targets.postal_code_ids: US:73170',
        'language: de',
        'sensitive_topic_exclusions.topics: war=LIMITED',
      ],
      ...['sensitive_topic_exclusions.filter_option: STANDARD', 'user_day_parts: MONDAY 9-17'],
      ...['user_day_parts: FRIDAY 9-17', 'user_day_parts: SUNDAY', 'audience_ids_exclusions: u'],
      ...['new_dimension: {"odd":[1.5]}', 'nested.deeper.flag: true', 'nested.deeper.amount: 12'],
    ]);
  });

  it('of older servers may list geo targets', () => {
    expect(rows({ geo_targets: [{ country_code: 'DE' }, { country_code: 'AT', dma_ids: ['7'] }] })).toEqual([
      'geo_targets.country_code: DE',
      'geo_targets.country_code: AT',
      'geo_targets.dma_ids: 7',
    ]);
  });

  it('stays whole beside, also a value that is too long for a row of its own', () => {
    const { row, children, notes } = transform.adSet(
      { id: 's', targets: { artist_ids: ['x'.repeat(3000)] } },
      slice,
    );
    expect(row.targets).toBe(`{"artist_ids":["${'x'.repeat(3000)}"]}`);
    expect(children.targets).toEqual([]);
    expect(notes).toHaveLength(1);
  });

  it('caps and placements become rows; a cap that says too little is kept with a note', () => {
    const { row, children, notes } = transform.adSet(
      {
        id: 's',
        targets: { placements: ['MUSIC', 'PODCAST', 'MUSIC'] },
        frequency_caps: [
          { frequency_unit: 'DAY', frequency_period: 1, max_impressions: 5 },
          { frequency_unit: 'WEEK' },
        ],
      },
      slice,
    );
    expect(children.frequency_caps).toEqual([{ ad_set_id: 's', unit: 'DAY', period: 1, max_impressions: 5 }]);
    expect(children.placements).toEqual([
      { ad_set_id: 's', placement: 'MUSIC' },
      { ad_set_id: 's', placement: 'PODCAST' },
    ]);
    expect(row._extra).toContain('"frequency_caps[1].cap"');
    expect(notes).toHaveLength(1);
  });

  it('that is not there is empty: what an ad set no longer has goes', () => {
    expect(transform.adSet({ id: 's' }, slice).children).toEqual({
      targets: [],
      frequency_caps: [],
      placements: [],
    });
  });
});
