import { afterEach, expect, test } from 'vitest';
import { type AdsRig, openAdsRig } from '../../support/ads-rig.ts';

let rig: AdsRig;
afterEach(async () => {
  expect(rig.platform.errors).toEqual([]);
  await rig.close();
});

const small = { accounts: 1, campaigns: 1, adSetsPerCampaign: 1, adsPerAdSet: 1, days: 3 } as const;
const streams = ['businesses', 'ad_accounts', 'campaigns', 'ads', 'ad_sets', 'target_names'];
const asked = (since: number) =>
  rig.platform.log.slice(since).filter(({ path }) => path.startsWith('/targets/'));

/** Ad sets name what they target by id, in lists that are searches (OpenAPI, `/targets/*`). */
test('targets have the names of their ids, read once for all ad sets; one that is gone has none', async () => {
  rig = await openAdsRig({ ...small, dialect: 'vendor' });
  const { state, clock } = rig.platform;
  const [adSet] = state.adSets.values();
  const cities = Array.from({ length: 60 }, (_, n) => `city-${n}`);
  state.update(adSet?.id ?? '', {
    targets: {
      genre_ids: ['genre-1', 'genre-8'],
      interest_ids: ['interest-1', 'interest-3'],
      language: 'en',
      artist_ids: ['artist-2'],
      playlist_ids: ['cooking'],
      podcast_episode_topic_ids: ['healthy-living'],
      geo_targets: {
        country_code: 'US',
        region_ids: ['456'],
        postal_code_ids: ['US:94110'],
        city_ids: cities,
      },
      sensitive_topic_exclusions: { topics: [{ id: 'war', filter_option: 'LIMITED' }] },
      genders: ['FEMALE'],
    },
  });
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  const labels = await rig.rows<{ line: string }>(`
    select concat_ws('|', dimension, target_value, target_name, target_parent_name) as line
    from bi.ad_set_targets where target_value not like 'city-%' order by dimension collate "C", target_value collate "C"`);
  expect(labels.map(({ line }) => line)).toEqual([
    'artist_ids|artist-2|Café Tacvba',
    'genders|FEMALE',
    'genre_ids|genre-1|Genre No. 1',
    'genre_ids|genre-8',
    'geo_targets.country_code|US',
    'geo_targets.postal_code_ids|US:94110|94110|San Francisco',
    'geo_targets.region_ids|456|California|United States',
    'interest_ids|interest-1|Sport',
    'interest_ids|interest-3|Chess|Sport',
    'language|en|English',
    'playlist_ids|cooking|Cooking',
    'podcast_episode_topic_ids|healthy-living|Healthy Living',
    'sensitive_topic_exclusions.topics|war=LIMITED|War and Conflict',
  ]);
  expect(Math.max(...asked(0).map(({ query }) => (query.ids ?? '').split(',').length))).toBe(50);

  // Only what has no name is asked for again, and names a month later.
  const before = rig.platform.log.length;
  expect(await rig.sync({ streams })).toMatchObject({
    status: 'succeeded',
    counts: { inserted: 0, updated: 0 },
  });
  expect(new Set(asked(before).map(({ path }) => path))).toEqual(
    new Set(['/targets/genres', '/targets/geos']),
  );
  clock.advance(31 * 86_400_000);
  const later = rig.platform.log.length;
  await rig.sync({ streams });
  expect(asked(later).length).toBeGreaterThan(8);
});

test('a server of the contract has artists alone: the others are noted, and nothing fails', async () => {
  rig = await openAdsRig({ ...small, dialect: 'contract' });
  const [adSet] = rig.platform.state.adSets.values();
  rig.platform.state.update(adSet?.id ?? '', {
    targets: { artist_ids: ['artist-1'], genre_ids: ['genre-1'] },
  });
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  expect(await rig.rows('select dimension, name from ads.target_names')).toEqual([
    { dimension: 'artist_ids', name: 'Bo Kaspers' },
  ]);
  rig.platform.state.update(adSet?.id ?? '', { targets: { genre_ids: ['genre-1'] } });
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
});
