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
    get('/targets/artists', (call) =>
      site.json({
        [site.listKey('artists')]: artists.filter(({ name }) => name.toLowerCase().includes(found(call))),
      }),
    ),
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
