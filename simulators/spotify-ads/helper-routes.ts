/** Categories, targets, estimates and prices: what people look up before they create something. */

import type { Call, Route } from '../shared/http.ts';
import { bodyOf, textIn } from './body.ts';
import type { Site } from './site.ts';

const categories = [
  ['ADV_1', 'Music', undefined],
  ['ADV_1_1', 'Albums', 'ADV_1'],
  ['ADV_1_2', 'Podcasts', 'ADV_1'],
  ['ADV_2', 'Retail', undefined],
  ['ADV_2_1', 'Shoes, bags', 'ADV_2'],
] as const;

const artists = ['Bo Kaspers', 'Café Tacvba', 'Sigur Rós', 'The “Quotes”', '久石譲'].map((name, index) => ({
  id: `artist-${index + 1}`,
  name,
  images: [{ width: 64, height: 64, url: `https://assets.example/artist-${index + 1}` }],
}));

interface Target {
  readonly id: string;
  readonly name: string;
  readonly type?: string;
  readonly country_code?: string;
  readonly parent_geo_name?: string;
  readonly subtargets?: readonly Target[];
}

const named = (...all: readonly (readonly [id: string, name: string])[]) =>
  all.map(([id, name]) => ({ id, name }));

/** Lists of `/targets` (OpenAPI, `…TargetsResponse`), by path. */
const targets: Readonly<Record<string, { readonly key?: string; readonly all: readonly Target[] }>> = {
  artists: { all: artists },
  // Two of the nine that ad sets target are gone.
  genres: { all: named(...Array.from({ length: 7 }, (_, n) => [`genre-${n}`, `Genre No. ${n}`] as const)) },
  interests: {
    key: 'interests_with_subtargets',
    all: [
      {
        id: 'interest-1',
        name: 'Sport',
        subtargets: named(['interest-2', 'Running'], ['interest-3', 'Chess']),
      },
    ],
  },
  playlists: { all: named(['cooking', 'Cooking'], ['holidays', 'Holidays']) },
  episode_topics: { all: named(['healthy-living', 'Healthy Living']) },
  languages: { all: named(['en', 'English'], ['de', 'German']) },
  sensitive_topics: { all: named(['war', 'War and Conflict']) },
  geos: {
    all: [
      { id: '123', name: 'Berlin', type: 'REGION', country_code: 'DE' },
      { id: '456', name: 'California', type: 'REGION', country_code: 'US', parent_geo_name: 'United States' },
      {
        id: 'US:94110',
        name: '94110',
        type: 'POSTAL_CODE',
        country_code: 'US',
        parent_geo_name: 'San Francisco',
      },
    ],
  },
};

export const helperRoutes = (site: Site): readonly Route[] => {
  const { state } = site;
  const post = (path: string, handle: Route['handle']): Route => ({
    method: 'POST',
    path,
    inContract: true,
    handle,
  });
  const get = (path: string, handle: Route['handle']): Route => ({
    method: 'GET',
    path,
    inContract: true,
    handle,
  });
  const found = (call: Call): string => (call.query.get('q') ?? '').toLowerCase();
  return [
    get('/ad_categories', (call) =>
      site.json({
        [site.listKey('categories')]: categories
          .filter(([, name]) => name.toLowerCase().includes(found(call)))
          .map(([id, name, parent]) => ({
            id,
            name,
            ...(parent !== undefined && { parent_category: parent }),
          })),
      }),
    ),
    ...Object.entries(targets)
      .map(([path, { key = path, all }]) => ({
        ...get(`/targets/${path}`, (call) => {
          const ids = call.query.getAll('ids');
          const isAsked = (id: string, name: string): boolean =>
            (ids.length === 0 || ids.includes(id)) && name.toLowerCase().includes(found(call));
          // OpenAPI, getGeoTargets: "At least one query parameter must be provided."
          if (path === 'geos' && call.query.size === 0)
            throw site.refused(400, 'at least one query parameter is required', 'ILLEGAL.QUERY');
          const shown = all.filter((one) =>
            [one, ...(one.subtargets ?? [])].some(({ id, name }) => isAsked(id, name)),
          );
          return site.json({
            ...(path === 'geos' && { offset: 0, page_size: 50 }),
            [site.listKey(key)]: path === 'geos' ? shown.slice(0, 50) : shown,
          });
        }),
        inContract: path === 'artists',
      }))
      .filter(({ inContract }) => inContract || site.vendor),
    post('/estimates/audience', (call) => {
      const body = bodyOf(site, call, [
        'ad_account_id',
        'start_date',
        'asset_format',
        'objective',
        'bid_strategy',
      ]);
      const owner = state.accounts.get(textIn(site, body, 'ad_account_id') ?? '');
      if (owner === undefined) throw site.refused(400, 'ad_account_id does not exist', 'ILLEGAL.REFERENCE');
      return site.json({
        audience_forecast: [
          {
            estimated_frequency_min: 1.5,
            estimated_frequency_max: 3.5,
            estimated_impressions_min: 120_000,
            estimated_impressions_max: 180_000,
            estimated_reach_min: 50_000,
            estimated_reach_max: 80_000,
          },
        ],
        bid_suggestion: bidFor(owner.currency),
        likely_to_deliver_budget: true,
      });
    }),
    post('/estimates/bid', (call) => {
      const body = bodyOf(site, call, ['asset_format', 'objective', 'bid_strategy', 'currency', 'targets']);
      return site.json(bidFor(textIn(site, body, 'currency') ?? 'USD'));
    }),
    post('/ad_accounts/{id}/reserved_prices', (call) => {
      const owner = site.owner(call);
      bodyOf(site, call, ['ad_product', 'start_date', 'targets']);
      return site.json({ cost_micro: 25_000_000n, currency: owner.currency });
    }),
  ];
};

const bidFor = (currency: string) => ({
  bid_estimate_min: 4_500_000n,
  bid_estimate_max: 9_750_001n,
  cost_model: 'CPM',
  currency,
});
