import { describe, expect, test } from 'vitest';
import type { AdsOptions, AdsSimulator } from '../../../../simulators/spotify-ads/server.ts';
import { type adsAsk, simulated } from './ask.ts';

let ads: AdsSimulator;
let ask: ReturnType<typeof adsAsk>;
const start = async (options: AdsOptions = {}): Promise<void> => {
  ({ ads, ask } = await simulated({ days: 10, ...options }));
};

const good = {
  name: 'nightly_1',
  granularity: 'DAY',
  dimensions: ['CAMPAIGN_NAME', 'AD_SET_NAME', 'AD_NAME'],
  metrics: ['SPEND', 'IMPRESSIONS_ON_SPOTIFY'],
  statuses: ['ACTIVE', 'COMPLETED', 'STOPPED', 'PAUSED', 'PENDING_APPROVAL', 'REJECTED'],
  report_start: '2026-06-20T00:00:00Z',
  report_end: '2026-06-29T00:00:00Z',
};
const reports = () => `${ask.account}/async_reports`;
const look = async (id: string) => (await ask.get(`${reports()}/${id}`)).body;
/** The address of a finished report. */
const addressOf = async (): Promise<string> => {
  const { body } = await ask.post(reports(), good);
  for (let i = 0; i < 5; i += 1) {
    const { status, report_url } = await look(body.id);
    if (status === 'READY' && report_url !== undefined) return report_url;
  }
  throw new Error('the report is not ready');
};
const file = async (): Promise<string> => {
  const response = await fetch(await addressOf());
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer()).toString();
};

describe('a report job', () => {
  test('is created with 201, is PROCESSING for a set number of polls and seconds, then READY with an address elsewhere', async () => {
    await start({ csv: { polls: 2, seconds: 60 } });
    const { status, body } = await ask.post(reports(), good);
    expect(status).toBe(201);
    expect(Object.keys(body)).toEqual(['id']);
    for (let i = 0; i < 3; i += 1) expect((await look(body.id)).status).toBe('PROCESSING');
    ads.clock.advance(60_000);
    const ready = await look(body.id);
    expect(ready).toMatchObject({ status: 'READY', submitted_at: '2026-06-30T02:00:00Z' });
    expect(new URL(ready.report_url ?? '').origin).toBe(ads.storage.origin);
    expect(ads.storage.origin).not.toBe(new URL(ads.url).origin);
    expect((await ask.get(`${reports()}/unknown`)).status).toBe(404);
    const [, other = ''] = ads.state.accounts.keys();
    expect((await ask.get(`/ad_accounts/${other}/async_reports/${body.id}`)).status).toBe(404);
  });

  test.each(['FAILED', 'EXPIRED'] as const)(
    'becomes %s by script, and the next one is READY',
    async (outcome) => {
      await start({ csv: { polls: 0 } });
      ads.storage.outcomes.push(outcome);
      const first = await ask.post(reports(), good);
      const second = await ask.post(reports(), good);
      expect((await look(first.body.id)).status).toBe(outcome);
      expect(await look(first.body.id)).not.toHaveProperty('report_url');
      expect((await look(second.body.id)).status).toBe('READY');
    },
  );
});

describe('a CSV file', () => {
  test('has the requested columns and the true rows', async () => {
    await start();
    const [header, ...rows] = (await file()).trimEnd().split('\n');
    expect(header).toBe('DATE,CAMPAIGN_NAME,AD_SET_NAME,AD_NAME,SPEND,IMPRESSIONS_ON_SPOTIFY');
    const owner = ask.account.slice('/ad_accounts/'.length);
    const from = new Date('2026-06-20T00:00:00Z');
    const to = new Date('2026-06-30T00:00:00Z');
    const truth = [...ads.truth().days('AD', from, to)].filter(({ accountId }) => accountId === owner);
    const numbers = (line: string): string =>
      line.slice(0, 10) + line.slice(line.lastIndexOf(',', line.lastIndexOf(',') - 1));
    const real = truth.map(({ start: at, fields }) =>
      [at?.toISOString().slice(0, 10), fields.get('SPEND'), fields.get('IMPRESSIONS')].join(),
    );
    expect(rows.map(numbers).sort()).toEqual(real.sort());
  });

  test('can be spoiled: mark, line ends, footer, order, added and missing columns, ragged rows, wild names', async () => {
    await start({ accounts: 1, campaigns: 1, adSetsPerCampaign: 1, adsPerAdSet: 1 });
    const { spoiling } = ads.storage;
    const plain = await file();
    Object.assign(spoiling, { bom: true, crlf: true, footer: true });
    expect(await file()).toBe(`\ufeff${plain.replaceAll('\n', '\r\n')}Total,,,,,\r\n`);
    Object.assign(spoiling, { bom: false, crlf: false, footer: false, reordered: true, without: 'SPEND' });
    const header = 'MYSTERY,IMPRESSIONS_ON_SPOTIFY,AD_NAME,AD_SET_NAME,CAMPAIGN_NAME,DATE';
    expect((await file()).split('\n')[0]).toBe(header);
    Object.assign(spoiling, { reordered: false, without: undefined, ragged: 2 });
    const cells = (text: string): number => text.split('\n')[2]?.split(',').length ?? 0;
    expect(cells(await file())).toBe(cells(plain) - 1);
    Object.assign(spoiling, { ragged: undefined, wild: true });
    expect(await file()).toContain(', ""the\r\nfirst"""');
    Object.assign(spoiling, { wild: false, truncated: 3 });
    const short = await file();
    expect(plain.startsWith(short)).toBe(true);
    expect(short.endsWith('\n')).toBe(false);
    Object.assign(spoiling, { truncated: undefined, cut: 3 });
    const url = await addressOf();
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow('terminated');
  });

  test('is refused with credentials, and with 403 and XML at an expired address; both are recorded', async () => {
    await start();
    const url = await addressOf();
    const authorization = `Bearer ${ads.tokens.token}`;
    expect((await fetch(url, { headers: { authorization } })).status).toBe(400);
    expect((await fetch(url, { headers: { [ads.sdkHeader]: 't/1' } })).status).toBe(400);
    expect(ads.storage.leaked).toEqual(['authorization', ads.sdkHeader.toLowerCase()]);
    ads.storage.spoiling.expired = 1;
    const expired = await fetch(url);
    expect(expired.status).toBe(403);
    expect(await expired.text()).toContain('<Code>ExpiredToken</Code>');
    ads.storage.spoiling.failing = { status: 500, times: 1 };
    expect((await fetch(url)).status).toBe(500);
    expect((await fetch(url)).status).toBe(200);
    expect(ads.storage.downloads).toBe(1);
    expect((await fetch(`${ads.storage.origin}/reports/none.csv`)).status).toBe(404);
  });
});
