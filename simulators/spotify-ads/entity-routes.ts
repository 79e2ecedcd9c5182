/** Live entities, accounts, assets and audiences: got, created, changed, deleted (contracts/ads.md, section 4). */

import type { Answer, Call, Route } from '../shared/http.ts';
import { adFields, adSetFields, bodyOf, campaignFields, choiceIn, nameOf, textIn } from './body.ts';
import * as json from './json.ts';
import type { Account } from './model.ts';
import type { Site } from './site.ts';

const account = '/ad_accounts/{id}';
const route = (method: Route['method'], path: string, handle: Route['handle'], inContract = true): Route => ({
  method,
  path,
  inContract,
  handle,
});

/** What is found by the id of a path, in the account of that path; 404 where it is another's or none. */
export const inAccount = <T extends { readonly accountId: string }>(
  site: Site,
  call: Call,
  of: (id: string) => T | undefined,
): T => {
  const owner = site.owner(call);
  const id = (call.params.entity ?? '').toLowerCase();
  const found = site.state.unlisted.has(id) ? undefined : of(id);
  if (found === undefined || found.accountId !== owner.id)
    throw site.refused(404, 'The entity was not found.', 'NOT_FOUND');
  return found;
};

/** GET and PATCH of one kind. */
const single = <T extends { readonly id: string; readonly accountId: string }>(
  site: Site,
  kind: string,
  of: (id: string) => T | undefined,
  write: (one: T) => unknown,
  change: (one: T, call: Call) => void,
): readonly Route[] => [
  route('GET', `${account}/${kind}/{entity}`, (call) => site.json(write(inAccount(site, call, of)))),
  route('PATCH', `${account}/${kind}/{entity}`, (call) => {
    const found = inAccount(site, call, of);
    change(found, call);
    return site.json(write(found));
  }),
];

/** Something of the account that a body names by id; 400 where there is none. */
const named = <T extends { readonly accountId: string }>(
  site: Site,
  owner: Account,
  id: string | undefined,
  of: (id: string) => T | undefined,
  what: string,
): T => {
  const found = id === undefined ? undefined : of(id);
  if (found === undefined || found.accountId !== owner.id)
    throw site.refused(400, `${what} ${id} does not exist`, 'ILLEGAL.REFERENCE');
  return found;
};

export const entityRoutes = (site: Site): readonly Route[] => {
  const { state } = site;
  const adSet = (one: Parameters<typeof json.adSet>[1]): unknown => json.adSet(state, one);
  return [
    ...accountRoutes(site),
    ...single(
      site,
      'campaigns',
      (id) => state.campaigns.get(id),
      json.campaign,
      (one, call) => {
        const { objective: _, goal: __, ...fields } = campaignFields(site, bodyOf(site, call));
        state.update(one.id, fields);
      },
    ),
    ...single(
      site,
      'ad_sets',
      (id) => state.adSets.get(id),
      adSet,
      (one, call) => state.update(one.id, adSetFields(site, bodyOf(site, call))),
    ),
    ...single(
      site,
      'ads',
      (id) => state.ads.get(id),
      json.ad,
      (one, call) => state.update(one.id, adFields(site, bodyOf(site, call))),
    ),
    route('POST', `${account}/campaigns`, (call) => {
      const owner = site.owner(call);
      const body = bodyOf(site, call, ['name', 'objective']);
      return site.json(
        json.campaign(state.createCampaign(owner.id, nameOf(site, body) ?? '', campaignFields(site, body))),
      );
    }),
    route('POST', `${account}/ad_sets`, (call) => createAdSet(site, call)),
    route('POST', `${account}/ads`, (call) => createAd(site, call)),
    ...assetRoutes(site),
    ...audienceRoutes(site),
  ];
};

const required = ['name', 'start_time', 'budget', 'asset_format', 'targets', 'bid_strategy'];

function createAdSet(site: Site, call: Call): Answer {
  const { state } = site;
  const owner = site.owner(call);
  const body = bodyOf(site, call, required);
  const campaignId = textIn(site, body, 'campaign_id');
  const campaign = named(site, owner, campaignId, (id) => state.campaigns.get(id), 'campaign_id');
  const fields = adSetFields(site, body);
  if (fields.budgetType === 'LIFETIME' && fields.end === undefined)
    throw site.refused(400, 'a LIFETIME budget needs end_time', 'ILLEGAL.BUDGET');
  return site.json(json.adSet(state, state.createAdSet(campaign.id, fields.name ?? '', fields)), 201);
}

function createAd(site: Site, call: Call): Answer {
  const { state } = site;
  const owner = site.owner(call);
  const body = bodyOf(site, call, [
    'name',
    'assets',
    'tagline',
    'advertiser_name',
    'ad_set_id',
    'call_to_action',
  ]);
  const adSet = named(
    site,
    owner,
    textIn(site, body, 'ad_set_id'),
    (id) => state.adSets.get(id),
    'ad_set_id',
  );
  const fields = adFields(site, body);
  named(site, owner, fields.assetId, (id) => state.assets.get(id), 'asset_id');
  return site.json(json.ad(state.createAd(adSet.id, fields.name ?? '', fields)), 201);
}

/** Businesses and their accounts. */
const accountRoutes = (site: Site): readonly Route[] => {
  const { state } = site;
  const business = (call: Call) => {
    const found = state.businesses.find((one) => one.id === call.params.business);
    if (found === undefined) throw site.refused(404, 'The business was not found.', 'NOT_FOUND');
    return found;
  };
  const owned = (call: Call): Answer => {
    const { id } = business(call);
    const all = [...state.accounts.values()].filter((one) => one.businessId === id);
    // The vendor's answer has no paging.
    const key = site.listKey('ad_accounts');
    return site.json({ [key]: all.map(json.account) });
  };
  return [
    route('GET', '/businesses', () =>
      site.json({ [site.listKey('businesses')]: state.businesses.map(json.business) }),
    ),
    route('POST', '/businesses', (call) => {
      const body = bodyOf(site, call, ['name']);
      const type = textIn(site, body, 'type');
      return site.json(json.business(state.createBusiness(nameOf(site, body) ?? '', type)));
    }),
    route('GET', '/businesses/{business}', (call) => site.json(json.business(business(call)))),
    ...(site.vendor ? [route('GET', '/businesses/{business}/ad_accounts', owned, false)] : []),
    route('GET', account, (call) => site.json(json.account(site.owner(call)))),
    route('PATCH', account, (call) => {
      const owner = site.owner(call);
      const body = bodyOf(site, call);
      const name = nameOf(site, body);
      const industry = textIn(site, body, 'industry');
      const website = textIn(site, body, 'website');
      state.updateAccount(owner.id, {
        ...(name !== undefined && { name }),
        ...(industry !== undefined && { industry }),
        ...(website !== undefined && { website }),
      });
      return site.json(json.account(owner));
    }),
  ];
};

const kinds = ['AUDIO', 'IMAGE', 'VIDEO'] as const;

const assetRoutes = (site: Site): readonly Route[] => {
  const { state } = site;
  return [
    ...single(
      site,
      'assets',
      (id) => state.assets.get(id),
      json.asset,
      (one, call) => {
        const body = bodyOf(site, call, ['asset_type']);
        const name = nameOf(site, body);
        if (name !== undefined) state.update(one.id, { name });
      },
    ),
    route('POST', `${account}/assets`, (call) => {
      const owner = site.owner(call);
      const body = bodyOf(site, call, ['asset_type', 'name']);
      const type = choiceIn(site, body, 'asset_type', kinds) ?? 'AUDIO';
      return site.json(
        json.asset(state.createAsset(owner.id, nameOf(site, body) ?? '', type, 'WAITING_UPLOAD')),
      );
    }),
    // Its body is known from the vendor's notes alone (vendor-facts 2.9).
    route('PATCH', `${account}/assets`, (call) => {
      const owner = site.owner(call);
      const body = bodyOf(site, call, ['action', 'ids']);
      const archived = choiceIn(site, body, 'action', ['ARCHIVE', 'UNARCHIVE']) === 'ARCHIVE';
      const ids: readonly unknown[] = Array.isArray(body.ids) ? body.ids : [];
      const found = ids.map((id) => named(site, owner, String(id), (one) => state.assets.get(one), 'asset'));
      for (const one of found) state.update(one.id, { archived });
      return site.json({ [site.listKey('assets')]: found.map(json.asset) });
    }),
  ];
};

const audienceRoutes = (site: Site): readonly Route[] => {
  const { state } = site;
  return [
    route('POST', `${account}/audiences`, (call) => {
      const owner = site.owner(call);
      const body = bodyOf(site, call, ['audience_type', 'name']);
      const type = choiceIn(site, body, 'audience_type', ['CUSTOM', 'LOOKALIKE']) ?? 'CUSTOM';
      const seedId = textIn(site, body, 'seed_audience_id');
      if (type === 'LOOKALIKE')
        named(site, owner, seedId, (id) => state.audiences.get(id), 'seed_audience_id');
      const subtype = textIn(site, body, 'subtype');
      const given = { status: 'PROCESSING', size: 0, seedId, subtype };
      return site.json(
        json.audience(state.createAudience(owner.id, nameOf(site, body) ?? '', type, given)),
        201,
      );
    }),
    route('DELETE', `${account}/audiences/{entity}`, (call) => {
      const found = inAccount(site, call, (id) => state.audiences.get(id));
      return site.json({ deletion_count: state.deleteAudience(found.id) ? 1 : 0 });
    }),
  ];
};
