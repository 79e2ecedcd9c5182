import { test } from 'vitest';
import { reading } from './reading.ts';

const { insert, read, shows } = reading(async () => {
  await insert('ops.sources (name, kind, base_url)', [
    `'ads', 'ads', 'http://one'`,
    `'other', 'ads', 'http://two'`,
  ]);
  await insert('ads.ad_accounts (source_id, id, name, currency_code)', [`1, 'acc', 'Account', 'EUR'`]);
  await insert('ads.campaigns (source_id, id, ad_account_id, name)', [`1, 'c', 'acc', 'Campaign'`]);
  await insert('ads.ad_sets (source_id, id, ad_account_id, campaign_id, name, _deleted_at)', [
    `1, 's', 'acc', 'c', 'Set', null`,
    `1, 't', 'acc', 'c', 'Second set', null`,
    `1, 'gone', 'acc', 'c', 'Gone set', now()`,
  ]);
});

const page = 'https://shop.example';
const address = (
  id: string,
  url: string | null,
  more: { deleted?: boolean; catalog?: string } = {},
): string =>
  `1, '${id}', 'acc', 's', 'Ad ${id}', ${url === null ? 'null' : `'${url}'`},
   ${more.catalog === undefined ? 'null' : `'${more.catalog}'`}, ${more.deleted ? 'now()' : 'null'}`;

test('addresses that ads lead to are taken apart and decoded, whatever they hold', async () => {
  await insert('ads.ads (source_id, id, ad_account_id, ad_set_id, name, cta_url, catalog, _deleted_at)', [
    address(
      'a',
      `${page}/caf%C3%A9/x?utm_source=a%20b&utm_medium=c+d&utm_campaign=50%25%2Boff&utm_content=&x=1#utm_term=no`,
    ),
    address('b', 'HTTPS://me:pw@Shop.EXAMPLE:8443?utm_term=%E2%82%AC&utm_source=first&utm_source=second', {
      deleted: true,
    }),
    address('c', `${page}/?xutm_source=no&q=utm_source=no`),
    // No UTF-8, a null byte, half an escape: they stay as they are.
    address('d', `${page}/%C3%28?utm_source=%00&utm_medium=%ED%A0%80&utm_campaign=100%&utm_content=%4`),
    address('e', 'spotify:album:1'),
    address('f', '', { catalog: '{"catalog_items": "none"}' }),
    address('g', null),
    address('h', `${page}/h`, {
      catalog: `{"catalog_items": [{"clickthrough_url": "${page}/1?utm_source=one"}, {"sku": "2"}, {"clickthrough_url": "${page}/3"}]}`,
    }),
  ]);
  const query = (select: string) =>
    `select ad_id, ${select} from bi.landing_pages order by ad_id, item_number`;
  await shows(query('item_number, is_deleted, host, path'), [
    'a | 0 | false | shop.example | /café/x',
    'b | 0 | true | shop.example | ',
    'c | 0 | false | shop.example | /',
    'd | 0 | false | shop.example | /%C3(',
    'e | 0 | false | - | -',
    'h | 0 | false | shop.example | /h',
    'h | 1 | false | shop.example | /1',
    'h | 3 | false | shop.example | /3',
  ]);
  await shows(query('utm_source, utm_medium, utm_campaign, utm_content, utm_term'), [
    'a | a b | c d | 50%+off | - | -',
    'b | first | - | - | - | €',
    'c | - | - | - | - | -',
    'd | %00 | %ED%A0%80 | 100% | %4 | -',
    'e | - | - | - | - | -',
    'h | - | - | - | - | -',
    'h | one | - | - | - | -',
    'h | - | - | - | - | -',
  ]);
  await shows(`select distinct source, ad_account_name, campaign_name, ad_set_name from bi.landing_pages`, [
    'ads | Account | Campaign | Set',
  ]);
});

test('every UTF-8 character comes back from its escapes', async () => {
  await shows(
    `select count(*), count(*) filter (where ops.percent_decoded(escaped) = character) from (
       select chr(n) as character,
         regexp_replace(encode(convert_to(chr(n), 'UTF8'), 'hex'), '(..)', '%\\1', 'g') as escaped
       from unnest(array[1, 37, 127, 128, 2047, 2048, 4095, 4096, 55295, 57344, 65535, 65536, 262143, 1048576, 1114111]) n
     ) c`,
    ['15 | 15'],
  );
});

test('an audience says who uses it: live ad sets that aim at it or leave it out', async () => {
  await insert(
    `ads.audiences (source_id, id, ad_account_id, name, type, size_min, seed_audience_id, seed_audience_name,
       lookalike_audience_ids, included_events, _deleted_at)`,
    [
      `1, 'u', 'acc', 'Buyers', 'CUSTOM', 1000, null, null, '{v,w}', '{Purchase,Lead}', null`,
      `1, 'v', 'acc', 'Alike', 'LOOKALIKE', null, 'u', 'Old name', '{}', '{}', null`,
      `1, 'w', 'acc', 'Alike, too', 'LOOKALIKE', null, 'x', 'Never seen', '{}', '{}', null`,
      `1, 'gone', 'acc', 'Gone', 'CUSTOM', null, null, null, '{}', '{}', now()`,
    ],
  );
  await insert('ads.ad_set_targets (source_id, ad_set_id, dimension, value)', [
    `1, 's', 'audience_ids', 'u'`,
    `1, 't', 'audience_ids', 'u'`,
    `1, 'gone', 'audience_ids', 'u'`,
    `1, 't', 'audience_ids_exclusions', 'v'`,
    `1, 's', 'genders', 'w'`,
    `2, 's', 'audience_ids', 'w'`,
  ]);
  await shows(
    `select audience_name, audience_type, size_min, seed_audience_name, lookalike_audiences, included_events,
       targeting_ad_sets, excluding_ad_sets from bi.audiences order by audience_id`,
    [
      'Buyers | CUSTOM | 1000 | - | 2 | Purchase, Lead | 2 | 0',
      'Alike | LOOKALIKE | - | Buyers | 0 | - | 0 | 1',
      'Alike, too | LOOKALIKE | - | Never seen | 0 | - | 0 | 0',
    ],
  );
});

test('an asset says how many live ads use it, and as what; facts of a deleted ad keep its name', async () => {
  await insert('ads.assets (source_id, id, ad_account_id, name, type, archived, duration_ms, _deleted_at)', [
    `1, 'song', 'acc', 'Song', 'AUDIO', null, 30500, null`,
    `1, 'face', 'acc', 'Face', 'IMAGE', true, null, now()`,
    `2, 'song', 'acc', 'Namesake', 'AUDIO', null, null, null`,
  ]);
  await read(`update ads.ads set asset_id = 'song', logo_asset_id = 'face', companion_asset_id = 'face'`);
  await shows(
    `select asset_name, is_archived, is_deleted, duration_seconds, ads_as_creative, ads_as_companion, ads_as_logo,
       ads_as_canvas from bi.assets order by source, asset_id`,
    [
      'Face | true | true | - | 0 | 7 | 7 | 0',
      'Song | false | false | 30.500 | 7 | 0 | 0 | 0',
      'Namesake | false | false | - | 0 | 0 | 0 | 0',
    ],
  );
  await insert('ads.report_daily (source_id, entity_type, entity_id, day, ad_account_id)', [
    `1, 'AD', 'b', '2024-03-01', 'acc'`,
    `1, 'AD', 'unknown', '2024-03-01', 'acc'`,
  ]);
  await shows('select ad_name, asset_id, asset_name from bi.ad_performance_daily order by ad_id', [
    'Ad b | song | Song',
    '- | - | -',
  ]);
});

test('an ad set shows its category and how often one person may hear it', async () => {
  await insert('ads.ad_categories (source_id, id, name)', [`1, 'ADV_1', 'Food - Snacks'`]);
  await read(`update ads.ad_sets set category = 'ADV_1', cost_model = 'CPM' where id = 's'`);
  await insert('ads.ad_set_frequency_caps (source_id, ad_set_id, unit, period, max_impressions)', [
    `1, 's', 'WEEK', 1, 10`,
    `1, 's', 'DAY', 2, 3`,
    `2, 't', 'DAY', 1, 1`,
  ]);
  await shows(`select ad_set_name, category, cost_model, frequency_caps from bi.ad_set_pacing order by 1`, [
    'Second set | - | - | -',
    'Set | Food - Snacks | CPM | 3 in 2 DAY, 10 in 1 WEEK',
  ]);
});
