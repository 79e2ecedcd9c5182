import { beforeEach, describe, expect, test } from 'vitest';
import type { AdsOptions, AdsSimulator } from '../../../../simulators/spotify-ads/server.ts';
import { type adsAsk, items, simulated } from './ask.ts';

let ads: AdsSimulator;
let ask: ReturnType<typeof adsAsk>;
const start = async (options: AdsOptions = {}): Promise<void> => {
  ({ ads, ask } = await simulated({ days: 5, ...options }));
};

describe('access', () => {
  beforeEach(() => start());

  test('a missing or wrong bearer token is 401', async () => {
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

  test('an access token expires by the platform’s clock or after its requests; a rotated refresh token is refused', async () => {
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
    const authorization = `Bearer ${Reflect.get(await buy(ads.tokens.refresh), 'access_token')}`;
    for (const status of [200, 401])
      expect(await ask.send('GET', '/businesses', { as: { ...as, authorization } })).toMatchObject({
        status,
      });
  });

  test('a closed account is 403, a missing one 404, and the others answer', async () => {
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

  test.each(['data', 'items', 'results'])(
    'a server may name its lists %s and leave paging out',
    async (container) => {
      await start({ container, paging: false });
      const { body } = await ask.get(`${ask.account}/campaigns`);
      expect(Object.keys(body)).toEqual([container]);
      expect(Object.keys((await ask.get('/businesses')).body)).toEqual([container]);
    },
  );

  test('the history of changes holds old and new values of 180 days', async () => {
    await start({ dialect: 'vendor' });
    const [adSet] = ads.state.adSets.values();
    // Beyond what a double can hold.
    for (const budget of [9_007_199_254_740_993n, 9_007_199_254_740_995n])
      ads.state.update(adSet?.id ?? '', { budget });
    const { text, body } = await ask.get(`${ask.account}/change_history`);
    const change = { entity_type: 'AD_SET', entity_id: adSet?.id, operation: 'CHANGED' };
    const budget = { ...change, changes: [{ change_category: 'BUDGET' }] };
    expect(items(body, 'change_history')).toMatchObject([budget, budget]);
    expect(text).toContain('"before":{"value":9007199254740993},"after":{"value":9007199254740995}');
    ads.clock.advance(181 * 86_400_000);
    expect(items((await ask.get(`${ask.account}/change_history`)).body, 'change_history')).toEqual([]);
  });
});

describe('refusals', () => {
  test('too many requests are 429, reports sooner than the rest, with the seconds until the window ends', async () => {
    await start({ limits: { requests: 4, reports: 1, windowMs: 60_000 } });
    const report = () => ask.get(`${ask.account}/aggregate_reports`, { entity_type: 'AD', fields: 'SPEND' });
    expect((await report()).status).toBe(200);
    const refused = await report();
    expect(refused.status).toBe(429);
    expect(refused.headers.get('x-ratelimit-reset')).toMatch(/^(5[1-9]|60)(\.\d+)?$/);
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
});
