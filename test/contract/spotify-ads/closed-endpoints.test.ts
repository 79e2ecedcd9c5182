/** One status code has more than one meaning: 401 and 403 of an account that is accepted elsewhere (vendor-facts, 2.6: 403 per account). */
import { afterEach, expect, test } from 'vitest';
import { type Fault, status } from '../../../simulators/shared/faults.ts';
import { AuthFailed } from '../../../src/core/errors.ts';
import type { RunReport } from '../../../src/core/run.ts';
import { type AdsRig, openAdsRig } from '../../support/ads-rig.ts';

let rig: AdsRig;
afterEach(() => rig.close());

const small = { campaigns: 1, adSetsPerCampaign: 1, adsPerAdSet: 1, days: 20, accounts: 2 } as const;
const times = Number.POSITIVE_INFINITY;
const to = (part: string | RegExp) => ({
  times,
  match: ({ path }: { readonly path: string }) => RegExp(part).test(path),
});
const inJson = (code: number, body: object): Fault =>
  status(code, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const streamOf = (report: RunReport, name: string) => report.streams.find(({ stream }) => stream === name);
const accountOf = () => [...rig.platform.state.accounts.keys()][0] ?? '';
const pathsSince = (count: number) => rig.platform.log.slice(count).map(({ path }) => path);

test.each([401, 403])(
  'a %i for the reports of one account closes these alone; it can be left out',
  async (code) => {
    rig = await openAdsRig({ ...small, dialect: 'vendor' });
    await rig.sync();
    const account = accountOf();
    const days = () =>
      rig.rows('select entity_id, day from ads.report_daily where ad_account_id = $1', [account]);
    const before = await days();
    expect(before.length).toBeGreaterThan(0);
    const fault = inJson(code, { messages: ['The user has no access to this ad account'] });
    const shut = rig.platform.script.at(to(`${account}/aggregate_reports`), fault);
    rig.platform.clock.advance(86_400_000);
    const report = await rig.sync();
    expect(shut.fired).toBeGreaterThan(1);
    expect(report.status).toBe('partly_failed');
    const reason = streamOf(report, 'report_daily')?.reason;
    expect(reason).toMatch(
      RegExp(`ad_account_id ${account}.*a role in this ad account.*add ad_accounts:${account} to`),
    );
    expect(streamOf(report, 'campaigns')?.status).toBe('ok');

    const asked = rig.platform.log.length;
    const exclude = [`ad_accounts:${account.toUpperCase()}`];
    const without = await rig.sync({}, { settings: { exclude }, deps: { exclude } });
    expect(without.status).toBe('succeeded');
    expect(pathsSince(asked).filter((path) => path.includes(`/ad_accounts/${account}`))).toEqual([]);
    expect((await days()).length).toBe(before.length);
    rig.platform.script.clear();
    expect((await rig.sync()).status).toBe('succeeded');
    expect((await days()).length).toBeGreaterThan(before.length);
  },
);

test('businesses that answer 401 do not end a run whose accounts are configured', async () => {
  rig = await openAdsRig(small);
  rig.platform.script.at(to(/\/businesses$/), status(401));
  const report = await rig.sync();
  expect(report.status).toBe('partly_failed');
  expect(streamOf(report, 'businesses')?.status).toBe('forbidden');
  expect(streamOf(report, 'campaigns')?.status).toBe('ok');
});

test('an access token that expires in the middle of a run ends it', async () => {
  rig = await openAdsRig({ ...small, dialect: 'vendor' });
  let isOver = false;
  const match = ({ path }: { readonly path: string }) => (isOver ||= path.includes('aggregate_reports'));
  rig.platform.script.at({ times, match }, inJson(401, { error: { message: 'The access token expired' } }));
  const failed = rig.sync();
  await expect(failed).rejects.toBeInstanceOf(AuthFailed);
  await expect(failed).rejects.toThrow(/lives for an hour: set ADS_REFRESH_TOKEN/);
});

test('an app in development mode that does not know the user says where to add him', async () => {
  rig = await openAdsRig(small);
  rig.platform.script.at(
    to(/./),
    inJson(403, { messages: ['User not registered in the Developer Dashboard'] }),
  );
  const failed = rig.sync();
  await expect(failed).rejects.toBeInstanceOf(AuthFailed);
  await expect(failed).rejects.toThrow(/User Management of the app/);
});
