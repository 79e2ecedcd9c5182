/** The endpoints of lists and entities, live ones and drafts. */

import type { Answer, Call, Route } from '../shared/http.ts';
import * as json from './json.ts';
import type { Account, Draft } from './model.ts';
import type { Site } from './site.ts';

const account = '/ad_accounts/{id}';

/** Every list of the platform, by path below the account: its key, and what it holds. */
const lists = ({
  state,
  vendor,
}: Site): Readonly<Record<string, { key: string; of: (owner: Account, call: Call) => readonly unknown[] }>> => {
  const mine = <T extends { readonly accountId: string; readonly createdAt: number; readonly id: string }>(
    all: Iterable<T>,
    owner: Account,
  ) =>
    [...all]
      .filter((one) => one.accountId === owner.id)
      .sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  const drafts = (kind: Draft['kind'], owner: Account) =>
    [...state.drafts.values()]
      .filter((one) => one.kind === kind && one.of.accountId === owner.id)
      .sort((a, b) => (a.of.id < b.of.id ? -1 : 1))
      .map((one) => json.draft(state, one));
  return {
    campaigns: { key: 'campaigns', of: (owner) => mine(state.campaigns.values(), owner).map(json.campaign) },
    ads: { key: 'ads', of: (owner) => mine(state.ads.values(), owner).map(json.ad) },
    assets: { key: 'assets', of: (owner) => mine(state.assets.values(), owner).map(json.asset) },
    audiences: { key: 'audiences', of: (owner) => mine(state.audiences.values(), owner).map(json.audience) },
    'drafts/campaigns': { key: 'campaign_drafts', of: (owner) => drafts('campaign', owner) },
    'drafts/ad_sets': { key: 'ad_set_drafts', of: (owner) => drafts('ad_set', owner) },
    'drafts/ads': { key: 'ad_drafts', of: (owner) => drafts('ad', owner) },
    ...(vendor && {
      ad_sets: {
        key: 'ad_sets',
        of: (owner: Account) => mine(state.adSets.values(), owner).map((one) => json.adSet(state, one)),
      },
      change_history: {
        key: 'change_history',
        of: (owner: Account) => state.changes.filter((one) => one.accountId === owner.id).map(json.change),
      },
    }),
  };
};

/** All but the reports. */
export const entityRoutes = (site: Site): readonly Route[] => {
  const { state } = site;
  const get = (path: string, handle: (call: Call) => Answer, promised = true): Route => ({
    method: 'GET',
    path,
    promised,
    handle,
  });
  const one = <T>(path: string, of: (id: string) => T | undefined, write: (found: T) => unknown): Route =>
    get(path, (call) => {
      site.owner(call);
      const found = of(call.params.entity ?? '');
      if (found === undefined) throw site.refused(404, 'The entity was not found.', 'NOT_FOUND');
      return site.json(write(found));
    });
  const draftOf = (kind: Draft['kind'], id: string): Draft => {
    const found = state.drafts.get(id);
    if (found === undefined || found.kind !== kind) throw site.refused(404, 'The draft was not found.', 'NOT_FOUND');
    return found;
  };
  return [
    get('/businesses', () => site.json({ [site.container('businesses')]: state.businesses })),
    get('/businesses/{business}', (call) => {
      const found = state.businesses.find((each) => each.id === call.params.business);
      if (found === undefined) throw site.refused(404, 'The business was not found.', 'NOT_FOUND');
      return site.json(found);
    }),
    ...(site.vendor
      ? [
          get(
            '/businesses/{business}/ad_accounts',
            (call) => {
              const owned = [...state.accounts.values()].filter((each) => each.businessId === call.params.business);
              return site.list(call, 'ad_accounts', owned.map(json.account));
            },
            false,
          ),
        ]
      : []),
    get('/ad_categories', (call) =>
      site.list(call, 'ad_categories', [
        { id: 'ADV_1_1', name: 'Music', subcategories: [] },
        { id: 'ADV_1_2', name: 'Podcasts', subcategories: [] },
      ]),
    ),
    get(account, (call) => site.json(json.account(site.owner(call)))),
    ...Object.entries(lists(site)).map(([path, { key, of }]) =>
      get(`${account}/${path}`, (call) => site.list(call, key, of(site.owner(call), call))),
    ),
    one(`${account}/campaigns/{entity}`, (id) => state.campaigns.get(id), json.campaign),
    one(
      `${account}/ad_sets/{entity}`,
      (id) => state.adSets.get(id),
      (found) => json.adSet(state, found),
    ),
    one(`${account}/ads/{entity}`, (id) => state.ads.get(id), json.ad),
    one(
      `${account}/drafts/campaigns/{entity}`,
      (id) => state.drafts.get(id),
      (found) => json.draft(state, found),
    ),
    {
      method: 'POST',
      path: `${account}/drafts/campaigns/{entity}`,
      promised: true,
      handle: (call) => {
        site.owner(call);
        const id = call.params.entity ?? '';
        const found = draftOf('campaign', id);
        const body: unknown = JSON.parse(call.body.toString() || '{}');
        const action: unknown = Reflect.get(Object(body), 'action');
        const version: unknown = Reflect.get(Object(body), 'draft_hierarchy_version');
        if (found.kind === 'campaign' && version !== found.version)
          throw site.refused(409, `draft_hierarchy_version is ${found.version}`, 'DRAFT_HIERARCHY_VERSION_CONFLICT');
        if (action === 'PUBLISH') state.publish(id);
        else if (action !== 'VALIDATE') throw site.refused(400, 'action must be VALIDATE or PUBLISH', 'BAD_REQUEST');
        return site.json({ validation_errors: null });
      },
    },
    {
      method: 'DELETE',
      path: `${account}/drafts/campaigns/{entity}`,
      promised: true,
      handle: (call) => {
        site.owner(call);
        if (!state.deleteDraft(call.params.entity ?? ''))
          throw site.refused(404, 'The draft was not found.', 'NOT_FOUND');
        return { status: 204, headers: {}, body: [] };
      },
    },
    {
      method: 'DELETE',
      path: `${account}/audiences/{entity}`,
      promised: true,
      handle: (call) => {
        site.owner(call);
        return site.json({ deletion_count: state.deleteAudience(call.params.entity ?? '') ? 1 : 0 });
      },
    },
  ];
};
