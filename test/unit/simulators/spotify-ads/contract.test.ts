import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { resetBeforeHeaders, truncatedJson } from '../../../../simulators/shared/faults.ts';
import {
  emptied,
  rateLimited,
  refusal,
  sameToken,
  wrongTotal,
} from '../../../../simulators/spotify-ads/faults.ts';
import { type AdsOptions, type AdsSimulator, startAds } from '../../../../simulators/spotify-ads/server.ts';
import { adsAsk, items } from './ask.ts';

const now = new Date('2026-06-30T02:00:00Z');
let ads: AdsSimulator;
let ask: ReturnType<typeof adsAsk>;
const start = async (options: AdsOptions = {}): Promise<void> => {
  ads = await startAds({ now, days: 5, ...options });
  ask = adsAsk(ads);
};
afterEach(async () => {
  expect(ads.errors).toEqual([]);
  await ads.close();
});

describe('who is let in', () => {
  beforeEach(() => start());

  test('no bearer, a wrong one or none of ours is 401', async () => {
    for (const authorization of [undefined, 'Bearer wrong', `Basic ${ads.tokens.token}`]) {
      const as = { [ads.sdkHeader]: 'test/1', ...(authorization !== undefined && { authorization }) };
      expect((await ask.send('GET', '/businesses', { as })).status).toBe(401);
    }
  });

  test('every request carries X-Service-Ads-Sdk with a product and its version, else 400', async () => {
    const authorization = `Bearer ${ads.tokens.token}`;
    expect(ads.sdkHeader).toBe('X-Service-Ads-Sdk');
    for (const value of [undefined, 'tidemark', '/1', 'tidemark/']) {
      const as = { authorization, ...(value !== undefined && { [ads.sdkHeader]: value }) };
      expect([value, (await ask.send('GET', '/businesses', { as })).status]).toEqual([value, 400]);
    }
    const other = { authorization, 'X-Spotify-Ads-Sdk': 'tidemark/1.0' };
    expect((await ask.send('GET', '/businesses', { as: other })).status).toBe(400);
  });

  test('an access token that was bought ends by the platform’s clock or after so many requests; a rotated refresh token is worth nothing', async () => {
    ads.tokens.rotates = true;
    ads.tokens.lifetime = 60;
    const basic = `Basic ${Buffer.from(`${ads.tokens.clientId}:${ads.tokens.clientSecret}`).toString('base64')}`;
    const buy = async (refresh_token: string, authorization = basic) => {
      const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token });
      const response = await fetch(ads.tokenUrl, { method: 'POST', headers: { authorization }, body });
      const said: Readonly<Record<string, unknown>> = JSON.parse(await response.text());
      return { ...said, status: response.status };
    };
    const first = ads.tokens.refresh;
    expect((await buy(first, 'Basic eDp5')).status).toBe(401);
    const bought = await buy(first);
    expect(bought).toMatchObject({ status: 200, expires_in: 60, token_type: 'Bearer' });
    expect((await buy(first)).status).toBe(400);
    expect(ads.tokens.bought).toBe(1);
    const as = { authorization: `Bearer ${Reflect.get(bought, 'access_token')}`, [ads.sdkHeader]: 't/1' };
    expect((await ask.send('GET', '/businesses', { as })).status).toBe(200);
    ads.clock.advance(60_000);
    expect((await ask.send('GET', '/businesses', { as })).status).toBe(401);
    ads.tokens.uses = 1;
    const once = {
      ...as,
      authorization: `Bearer ${Reflect.get(await buy(ads.tokens.refresh), 'access_token')}`,
    };
    expect((await ask.send('GET', '/businesses', { as: once })).status).toBe(200);
    expect((await ask.send('GET', '/businesses', { as: once })).status).toBe(401);
  });

  test('an account that is closed is 403, one that is not there 404, and the others go on', async () => {
    const [closed = '', open = ''] = ads.state.accounts.keys();
    ads.state.forbid(closed);
    expect((await ask.get(`/ad_accounts/${closed}/campaigns`)).status).toBe(403);
    expect((await ask.get(`/ad_accounts/${open}/campaigns`)).status).toBe(200);
    expect((await ask.get('/ad_accounts/nobody/campaigns')).status).toBe(404);
    ads.state.forbid(closed, false);
    expect((await ask.get(`/ad_accounts/${closed}`)).status).toBe(200);
  });
});

describe('lists', () => {
  test('limit is 1 to 50 and 50 by default; offset is 0 by default', async () => {
    await start({ campaigns: 60 });
    for (const limit of ['0', '51', '-1', 'x', '1.5', ''])
      expect([limit, (await ask.get(`${ask.account}/campaigns`, { limit })).status]).toEqual([limit, 400]);
    expect((await ask.get(`${ask.account}/campaigns`, { offset: '-1' })).status).toBe(400);
    const { body } = await ask.get(`${ask.account}/campaigns`);
    expect(items(body, 'campaigns')).toHaveLength(50);
    expect(body.paging).toEqual({ page_size: 50, total_results: 60, offset: 0 });
    const rest = await ask.get(`${ask.account}/campaigns`, { offset: 50 });
    expect(items(rest.body, 'campaigns')).toHaveLength(10);
  });

  test('the newest come first unless ASC is asked for; what a list cannot be ordered by is refused', async () => {
    await start({ campaigns: 5 });
    const times = async (query: Readonly<Record<string, string>>) =>
      items((await ask.get(`${ask.account}/campaigns`, query)).body, 'campaigns').map((one) =>
        String(one.created_at),
      );
    const ascending = await times({ sort_direction: 'ASC' });
    expect(ascending).toEqual(ascending.toSorted());
    expect(await times({})).toEqual(ascending.toReversed());
    const names = items(
      (await ask.get(`${ask.account}/campaigns`, { sort_field: 'NAME', sort_direction: 'ASC' })).body,
      'campaigns',
    );
    expect(names.map(({ name }) => name)).toEqual(names.map(({ name }) => String(name)).sort());
    for (const query of [{ sort_direction: 'UP' }, { sort_field: 'BUDGET' }])
      expect((await ask.get(`${ask.account}/campaigns`, query)).status).toBe(400);
  });

  test('campaigns are filtered by status, name and ids, ads by ad set, campaign and status: lists are repeated parameters', async () => {
    await start({ campaigns: 4 });
    const mine = [...ads.state.campaigns.values()].filter(({ accountId }) => ask.account.endsWith(accountId));
    const [first, second] = mine.map(({ id }) => id);
    if (first === undefined || second === undefined) throw new Error('too few campaigns');
    ads.state.pause(first);
    const count = async (list: string, query: Readonly<Record<string, string | readonly string[]>>) =>
      items((await ask.get(`${ask.account}/${list}`, query)).body, list).length;
    expect(await count('campaigns', { statuses: 'PAUSED' })).toBe(1);
    expect(await count('campaigns', { statuses: ['PAUSED', 'ACTIVE'] })).toBe(4);
    expect(await count('campaigns', { name: (mine[0]?.name ?? '').toUpperCase() })).toBe(1);
    expect(await count('campaigns', { campaign_ids: [first, second] })).toBe(2);
    expect((await ask.get(`${ask.account}/campaigns`, { campaign_ids: `${first},${second}` })).status).toBe(
      400,
    );
    const [adSet] = [...ads.state.adSets.values()].filter(({ campaignId }) => campaignId === first);
    expect(await count('ads', { campaign_ids: first })).toBe(4);
    expect(await count('ads', { ad_set_ids: adSet?.id ?? '' })).toBe(2);
    expect(await count('ads', { statuses: 'ARCHIVED' })).toBe(0);
  });

  test.each([404, 405] as const)('there is no list of ad sets: %i; each is got by its id', async (status) => {
    await start({ adSetList: status });
    const [adSet] = ads.state.adSets.keys();
    expect((await ask.get(`${ask.account}/ad_sets`)).status).toBe(status);
    expect((await ask.get(`${ask.account}/ad_sets/${adSet}`)).body.id).toBe(adSet);
    expect((await ask.get(`${ask.account}/change_history`)).status).toBe(404);
    const [business] = ads.state.businesses;
    expect((await ask.get(`/businesses/${business?.id}/ad_accounts`)).status).toBe(404);
    expect((await ask.get(`${ask.account}/drafts/ad_sets`)).status).toBe(200);
  });

  test('the vendor has them, under its own header', async () => {
    await start({ dialect: 'vendor' });
    expect(ads.sdkHeader).toBe('X-Spotify-Ads-Sdk');
    for (const list of ['ad_sets', 'change_history'])
      expect((await ask.get(`${ask.account}/${list}`)).status).toBe(200);
  });

  test.each(['data', 'items', 'results'])(
    'a server may call its lists %s and say nothing of pages',
    async (container) => {
      await start({ container, paging: false });
      const { body } = await ask.get(`${ask.account}/campaigns`);
      expect(Object.keys(body)).toEqual([container]);
      expect(Object.keys((await ask.get('/businesses')).body)).toEqual([container]);
    },
  );

  test('the history of changes tells what was, what is, and goes back 180 days', async () => {
    await start({ dialect: 'vendor' });
    const [adSet] = ads.state.adSets.values();
    ads.state.update(adSet?.id ?? '', { budget: 9_007_199_254_740_995n });
    const { text, body } = await ask.get(`${ask.account}/change_history`);
    expect(items(body, 'change_history')).toMatchObject([
      {
        entity_type: 'AD_SET',
        entity_id: adSet?.id,
        operation: 'CHANGED',
        changes: [{ change_category: 'BUDGET' }],
      },
    ]);
    expect(text).toContain('"before":{"value":9007199254740993},"after":{"value":9007199254740995}');
    ads.clock.advance(181 * 86_400_000);
    expect(items((await ask.get(`${ask.account}/change_history`)).body, 'change_history')).toEqual([]);
  });
});

describe('what is written', () => {
  beforeEach(() => start());

  test('a micro-amount of any size stands in the JSON digit by digit, as made and as sent', async () => {
    const [adSet] = ads.state.adSets.keys();
    const path = `${ask.account}/ad_sets/${adSet}`;
    expect((await ask.get(path)).text).toContain('"micro_amount":9007199254740993,');
    const body = '{"budget":{"micro_amount":90071992547409931234567,"type":"DAILY"}}';
    expect((await ask.patch(path, body)).text).toContain('"micro_amount":90071992547409931234567,');
    expect(ads.state.adSets.get(adSet ?? '')?.budget).toBe(90071992547409931234567n);
    expect((await ask.patch(path, '{"budget":{"micro_amount":1.5,"type":"DAILY"}}')).status).toBe(400);
  });

  test('what is required on create is required', async () => {
    const { account, post } = ask;
    expect((await post(`${account}/campaigns`, { name: 'No objective' })).body.messages?.[0]).toContain(
      'objective',
    );
    const missing = (await post(`${account}/ad_sets`, { name: 'Nothing' })).body.messages?.[0] ?? '';
    for (const field of ['start_time', 'budget', 'asset_format', 'targets', 'bid_strategy'])
      expect(missing).toContain(field);
    expect((await post(`${account}/ads`, { name: 'Nothing' })).body.messages?.[0]).toContain('assets');
    expect((await post(`${account}/campaigns`, 'no json')).status).toBe(400);
  });

  test('a company grows through the API: campaign, ad set, ad, each found again', async () => {
    const { account, post, get } = ask;
    const campaign = await post(`${account}/campaigns`, { name: 'Born today', objective: 'REACH' });
    const adSet = await post(`${account}/ad_sets`, {
      name: 'Its set',
      campaign_id: campaign.body.id,
      start_time: '2026-07-01T00:00:00Z',
      budget: { micro_amount: 1_000_001, type: 'DAILY' },
      asset_format: 'AUDIO',
      targets: {},
      bid_strategy: 'MAX_BID',
    });
    const [asset] = ads.state.assets.keys();
    const ad = await post(`${account}/ads`, {
      name: 'Its ad',
      ad_set_id: adSet.body.id,
      assets: { asset_id: asset },
      tagline: 'Hear',
      advertiser_name: 'Northwind',
      call_to_action: { clickthrough_url: 'https://northwind.example/' },
    });
    expect([campaign.status, adSet.status, ad.status]).toEqual([200, 201, 201]);
    expect((await get(`${account}/ads/${ad.body.id}`)).body).toMatchObject({
      name: 'Its ad',
      ad_set_id: adSet.body.id,
    });
    const foreign = await post(`${account}/ad_sets`, { ...adSet.body, campaign_id: ad.body.id });
    expect(foreign.status).toBe(400);
  });

  test('assets are archived and unarchived several at a time', async () => {
    const ids = [...ads.state.assets.values()]
      .filter(({ accountId }) => ask.account.endsWith(accountId))
      .map(({ id }) => id);
    const two = ids.slice(0, 2);
    const archived = () => ids.filter((id) => ads.state.assets.get(id)?.archived);
    expect((await ask.patch(`${ask.account}/assets`, { action: 'ARCHIVE', ids: two })).status).toBe(200);
    expect(archived()).toEqual(two);
    expect((await ask.patch(`${ask.account}/assets`, { action: 'UNARCHIVE', ids: two })).status).toBe(200);
    expect(archived()).toEqual([]);
    expect(
      (await ask.patch(`${ask.account}/assets`, { action: 'ARCHIVE', ids: [...two, 'none'] })).status,
    ).toBe(400);
    expect(archived()).toEqual([]);
  });

  test('an audience is custom or a lookalike of another, and goes when it is deleted', async () => {
    const { account, post, send, get } = ask;
    const custom = await post(`${account}/audiences`, { audience_type: 'CUSTOM', name: 'Buyers' });
    const like = { audience_type: 'LOOKALIKE', name: 'Like buyers' };
    expect((await post(`${account}/audiences`, like)).status).toBe(400);
    expect((await post(`${account}/audiences`, { ...like, seed_audience_id: custom.body.id })).status).toBe(
      201,
    );
    expect((await send('DELETE', `${account}/audiences/${custom.body.id}`)).body).toEqual({
      deletion_count: 1,
    });
    expect((await send('DELETE', `${account}/audiences/${custom.body.id}`)).status).toBe(404);
    const left = items((await get(`${account}/audiences`)).body, 'audiences').map(({ name }) => name);
    expect(left).toContain('Like buyers');
    expect(left).not.toContain('Buyers');
  });
});

describe('drafts', () => {
  beforeEach(() => start());
  const version = async (id: string) =>
    (await ask.get(`${ask.account}/drafts/campaigns/${id}`)).body.draft_hierarchy_version;
  const act = async (id: string, action: string, at: unknown) =>
    ask.post(`${ask.account}/drafts/campaigns/${id}`, { action, draft_hierarchy_version: at });

  test('a hierarchy is created, edited, validated and published; what goes live keeps its ids', async () => {
    const { account, post, patch, get } = ask;
    const campaign = (await post(`${account}/drafts/campaigns`, { name: 'Soon', objective: 'REACH' })).body
      .id;
    expect(await version(campaign)).toBe(1);
    const adSet = (await post(`${account}/drafts/ad_sets`, { campaign_id: campaign, name: 'Its set' })).body
      .id;
    expect(await version(campaign)).toBe(2);
    const ad = (await post(`${account}/drafts/ads`, { ad_set_id: adSet, name: 'Its ad' })).body.id;
    const incomplete = await version(campaign);
    expect(incomplete).toBe(3);
    // Not live: nowhere but among the drafts.
    expect((await get(`${account}/campaigns/${campaign}`)).status).toBe(404);

    const invalid = await act(campaign, 'PUBLISH', incomplete);
    expect(invalid.status).toBe(400);
    expect(invalid.body.validation_errors).toContainEqual({
      validation_entity_type: 'AD_SET',
      validation_entity_id: adSet,
      message: 'budget must not be empty',
    });
    expect(ads.state.campaigns.has(campaign)).toBe(false);

    const budget = '"budget":{"micro_amount":9007199254740993,"type":"DAILY"}';
    await patch(
      `${account}/drafts/ad_sets/${adSet}`,
      `{"start_time":"2026-07-01T00:00:00Z",${budget},"asset_format":"AUDIO","targets":{},"bid_strategy":"MAX_BID"}`,
    );
    await patch(`${account}/drafts/ads/${ad}`, {
      assets: { asset_id: [...ads.state.assets.keys()][0] },
      tagline: 'Hear',
      advertiser_name: 'Northwind',
      call_to_action: { key: 'SHOP_NOW', clickthrough_url: 'https://northwind.example/' },
    });
    expect(await version(campaign)).toBe(5);
    expect((await act(campaign, 'VALIDATE', 5)).body).toEqual({ validation_errors: null });
    expect((await get(`${account}/drafts/campaigns/${campaign}`)).status).toBe(200);
    expect((await act(campaign, 'PUBLISH', 5)).body).toMatchObject({
      campaign: { id: campaign, status: 'ACTIVE' },
    });
    expect((await get(`${account}/drafts/campaigns/${campaign}`)).status).toBe(404);
    expect((await get(`${account}/drafts/ads/${ad}`)).status).toBe(404);
    expect((await get(`${account}/ad_sets/${adSet}`)).text).toContain('"micro_amount":9007199254740993,');
    expect((await get(`${account}/ads/${ad}`)).body).toMatchObject({
      id: ad,
      ad_set_id: adSet,
      status: 'ACTIVE',
    });
  });

  test('VALIDATE and PUBLISH need the present version: one from before a child’s change is a conflict', async () => {
    const [account = ''] = ads.state.accounts.keys();
    const ids = ads.state.createDraft(account, 'Disputed');
    const known = await version(ids.campaign);
    await ask.patch(`${ask.account}/drafts/ads/${ids.ad}`, { tagline: 'Changed meanwhile' });
    for (const action of ['VALIDATE', 'PUBLISH'])
      expect((await act(ids.campaign, action, known)).status).toBe(409);
    expect((await act(ids.campaign, 'PUBLISH', undefined)).status).toBe(400);
    expect(ads.state.campaigns.has(ids.campaign)).toBe(false);
    expect((await act(ids.campaign, 'PUBLISH', await version(ids.campaign))).status).toBe(200);
    expect(ads.state.ads.get(ids.ad)?.tagline).toBe('Changed meanwhile');
  });

  test('a draft of something live has its id, and changes it only when it is published', async () => {
    const [ad] = ads.state.ads.values();
    const campaign = ads.state.adSets.get(ad?.adSetId ?? '')?.campaignId ?? '';
    const draft = await ask.post(`${ask.account}/ads/${ad?.id}/drafts`);
    expect(draft.body.id).toBe(ad?.id);
    await ask.patch(`${ask.account}/drafts/ads/${ad?.id}`, { tagline: 'Edited' });
    expect(ads.state.ads.get(ad?.id ?? '')?.tagline).toBe('Hear it first');
    const created = ad?.createdAt;
    expect((await act(campaign, 'PUBLISH', await version(campaign))).status).toBe(200);
    expect(ads.state.ads.get(ad?.id ?? '')).toMatchObject({ tagline: 'Edited', createdAt: created });
    expect(ads.state.drafts.size).toBe(0);
  });

  test('a draft that is deleted takes along what stands under it', async () => {
    const [account = ''] = ads.state.accounts.keys();
    const ids = ads.state.createDraft(account, 'Given up');
    const before = await version(ids.campaign);
    expect((await ask.send('DELETE', `${ask.account}/drafts/ad_sets/${ids.adSet}`)).status).toBe(204);
    expect([...ads.state.drafts.keys()]).toEqual([ids.campaign]);
    expect(await version(ids.campaign)).toBe(Number(before) + 1);
    expect((await ask.send('DELETE', `${ask.account}/drafts/campaigns/${ids.campaign}`)).status).toBe(204);
    expect((await ask.send('DELETE', `${ask.account}/drafts/campaigns/${ids.campaign}`)).status).toBe(404);
  });
});

describe('what goes wrong', () => {
  test('too many requests are 429, reports sooner than the rest, with the seconds until the window ends', async () => {
    await start({ limits: { requests: 4, reports: 1, windowMs: 60_000 } });
    const report = () => ask.get(`${ask.account}/aggregate_reports`, { entity_type: 'AD', fields: 'SPEND' });
    expect((await report()).status).toBe(200);
    const refused = await report();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('x-ratelimit-reset'))).toBeGreaterThan(50);
    expect(Number(refused.headers.get('x-ratelimit-reset'))).toBeLessThanOrEqual(60);
    const rest = [];
    for (let i = 0; i < 4; i += 1) rest.push((await ask.get('/businesses')).status);
    expect(rest).toEqual([200, 200, 200, 429]);
    expect(ads.limited).toBe(2);
  });

  test.each([
    ['codes', ['sp_trace_id', 'messages', 'error_codes']],
    ['camel', ['sp_trace_id', 'messages', 'errorCodes']],
    ['nested', ['error', 'path', 'timestamp']],
    ['message', ['message']],
  ] as const)('errors come in the shape %s', async (errors, keys) => {
    await start({ errors });
    const { status, body } = await ask.get(`${ask.account}/campaigns`, { limit: 0 });
    expect(status).toBe(400);
    expect(Object.keys(body)).toEqual(keys);
  });

  test('the script spoils the n-th request that fits, and tells that it did', async () => {
    await start();
    const campaigns = { endpoint: '/ad_accounts/{id}/campaigns', method: 'GET' };
    const second = ads.script.at({ ...campaigns, nth: 2 }, refusal(503));
    ads.script.at({ ...campaigns, nth: 3 }, rateLimited(7));
    ads.script.at(
      { ...campaigns, nth: 4 },
      wrongTotal((total) => total + 5),
    );
    ads.script.at({ ...campaigns, nth: 5 }, emptied);
    ads.script.at({ ...campaigns, nth: 6 }, ({ state }) => state.pause([...state.campaigns.keys()][0] ?? ''));
    ads.script.at({ endpoint: '/businesses' }, resetBeforeHeaders);
    ads.script.at({ endpoint: '/ad_categories' }, truncatedJson());
    ads.script.at({ endpoint: '/ad_accounts/{id}/aggregate_reports' }, sameToken('again'));
    const replies = [];
    for (let i = 0; i < 6; i += 1)
      replies.push(await ask.get(`${ask.account}/campaigns`, { sort_direction: 'ASC' }));
    expect(replies.map(({ status }) => status)).toEqual([200, 503, 429, 200, 200, 200]);
    expect(second.fired).toBe(1);
    expect(replies[2]?.headers.get('x-ratelimit-reset')).toBe('7');
    expect(replies[3]?.body.paging?.total_results).toBe(8);
    expect(replies[4]?.body).toMatchObject({ campaigns: [], paging: { total_results: 3 } });
    expect(items(replies[5]?.body ?? { id: '', rows: [] }, 'campaigns')[0]?.status).toBe('PAUSED');
    await expect(ask.get('/businesses')).rejects.toThrow('fetch failed');
    await expect(ask.get('/ad_categories')).rejects.toThrow(SyntaxError);
    const report = await ask.get(`${ask.account}/aggregate_reports`, { entity_type: 'AD', fields: 'SPEND' });
    expect(report.body.continuation_token).toBe('again');
    expect(ads.script.fired.map(({ name }) => name)).toEqual([
      'refusal 503',
      '429 (reset)',
      'wrong total',
      'emptied',
      'mutation',
      'reset before headers',
      'truncated JSON',
      'same token',
    ]);
    expect(ads.log.map(({ status }) => status).slice(0, 3)).toEqual([200, 503, 429]);
  });
});
