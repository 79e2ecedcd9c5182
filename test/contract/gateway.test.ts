import { expect, onTestFinished, test } from 'vitest';
import type { Fault } from '../../simulators/shared/faults.ts';
import { bearer } from '../../src/http/auth.ts';
import * as play from '../support/misbehaving-server.ts';
import { differences } from '../support/oracle.ts';
import { type Rig, testRig } from '../support/rig.ts';
import { dialects } from '../support/small-site.ts';

const prefix = '/ex/jira/11111111-aaaa-4bbb-8ccc-222222222222';
const token = 'scoped-t0ken';

/**
 * A gateway as `api.atlassian.com` before a site: only paths below `prefix`, only with the token. Recorded answers name their own addresses
 * at the gateway (`self: https://api.atlassian.com/ex/jira/{cloudId}/rest/api/3/…`); `renames: false` leaves those of the site.
 */
const gatewayTo = async ({ tracker }: Rig, renames: boolean): Promise<play.Misbehaving> => {
  const login = `Basic ${btoa(`${tracker.email}:${tracker.token}`)}`;
  const gateway = await play.misbehaving(({ method, url, headers, body }) => {
    if (headers.authorization !== `Bearer ${token}`) return play.status(401);
    if (!url.startsWith(`${prefix}/`)) return play.status(404);
    return {
      name: 'passed on',
      run: async (response) => {
        const sent = { authorization: login, 'content-type': headers['content-type'] ?? 'text/plain' };
        const init = { method, headers: sent, ...(method === 'POST' && { body }) };
        const answer = await fetch(tracker.url + url.slice(prefix.length), init);
        const text = await answer.text();
        const named = renames ? text.replaceAll(tracker.url, gateway.url + prefix) : text;
        const { status } = answer;
        const kept = ['content-type', 'date'].map((name) => [name, answer.headers.get(name) ?? ''] as const);
        response.writeHead(status, Object.fromEntries(kept)).end(named);
      },
    };
  });
  onTestFinished(gateway.close);
  return gateway;
};

test.each([
  { ...dialects[0], renames: true, names: 'the gateway' },
  // Its lists are paged by number or token.
  { ...dialects[0], renames: false, names: 'the site' },
  { ...dialects[1], renames: true, names: 'the gateway' },
])('every request goes below the path of the base URL, where addresses name $names ($name)', async (how) => {
  const rig = await testRig(how.options);
  const gateway = await gatewayTo(rig, how.renames);
  const settings = { baseUrl: gateway.url + prefix, auth: bearer({ reveal: () => token }) };
  expect(await rig.sync({}, { settings })).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig, how)).toEqual([]);
  rig.tracker.clock.advance(60_000);
  rig.tracker.state.create('PAY');
  expect(await rig.sync({}, { settings })).toMatchObject({ status: 'succeeded' });
  expect(await rig.reconcile({}, { settings })).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig, how)).toEqual([]);
  expect(gateway.fired.length).toBeGreaterThan(20);
  expect(new Set(gateway.fired)).toEqual(new Set(['passed on']));
  expect(rig.tracker.log).toHaveLength(gateway.requests.length);
});

test('a next page that is named at the site behind the gateway is read at the gateway', async () => {
  const rig = await testRig(dialects[1].options);
  const gateway = await gatewayTo(rig, false);
  const settings = { baseUrl: gateway.url + prefix, auth: bearer({ reveal: () => token }) };
  expect(await rig.sync({}, { settings })).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig, dialects[1])).toEqual([]);
  expect(gateway.requests.filter(({ url }) => url.includes('/field/search?')).length).toBeGreaterThan(1);
  expect(rig.tracker.log).toHaveLength(gateway.requests.length);
});

const fieldSearch = '/rest/api/3/field/search';
/** Names the next pages of the fields below another base. */
const at = (base: string): Fault => ({
  name: `addresses at ${base}`,
  answer: (answer) => {
    const text = String(answer.body).replace(/("nextPage":")https?:\/\/[^/"]*/g, `$1${base}`);
    return { ...answer, body: Buffer.from(text) };
  },
});

test('a next page that is named at the vendor’s gateway is read at the base URL', async () => {
  const rig = await testRig(dialects[1].options);
  const { script, log } = rig.tracker;
  const named = script.at(
    { endpoint: fieldSearch, times: Infinity },
    at(`https://api.atlassian.com${prefix}`),
  );
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(named.fired).toBeGreaterThan(1);
  expect(log.filter(({ query }) => query.cursor !== undefined).length).toBeGreaterThan(0);
  expect(await differences(rig, dialects[1])).toEqual([]);
});

test.each([
  `http://api.atlassian.com${prefix}`,
  `https://api.atlassian.com.${prefix}`,
  `https://api.atlassian.com:8443${prefix}`,
  `https://api.atlassian.com@127.0.0.2${prefix}`,
  `https://api.atlassian.com.example.com${prefix}`,
  `//api.atlassian.com${prefix}`,
  'https://other.atlassian.net',
])('a next page at %s is refused', async (base) => {
  const rig = await testRig(dialects[1].options);
  rig.tracker.script.at({ endpoint: fieldSearch, times: Infinity }, at(base));
  const { streams } = await rig.sync({ streams: ['fields'] });
  expect(JSON.stringify(streams)).toContain('not followed');
  expect(rig.tracker.log.filter(({ query }) => query.cursor !== undefined)).toEqual([]);
});
