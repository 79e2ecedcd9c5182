import { afterAll, expect, test } from 'vitest';
import type { Settings } from '../../../src/cli/context.ts';
import { openSource } from '../../../src/cli/opening.ts';
import { channelsOf } from '../../../src/cli/outbound.ts';
import { readConfig } from '../../../src/config/config.ts';
import { connectors } from '../../../src/connectors/index.ts';
import { AuthFailed } from '../../../src/core/errors.ts';
import { forwardProxy } from '../../support/forward-proxy.ts';
import * as play from '../../support/misbehaving-server.ts';

const closed = await play.misbehaving(() => play.status(401));
const proxy = await forwardProxy(closed.port);
afterAll(() => Promise.all([proxy.close(), closed.close()]));

const config = (more: NodeJS.ProcessEnv): Settings =>
  readConfig(
    {
      HTTP_PROXY: proxy.url,
      TRACKER_BASE_URL: 'http://tracker.example',
      TRACKER_EMAIL: 'me@x.example',
      TRACKER_API_TOKEN: 'x',
      ADS_BASE_URL: 'http://ads.example/ads/v3',
      ADS_ACCESS_TOKEN: 'x',
      WORKFLOW_BASE_URL: 'http://workflow.example',
      ...more,
    },
    import.meta.dirname,
    connectors,
  );

const asked = async (pipeline: string, from: Settings): Promise<readonly string[]> => {
  const before = proxy.asked.length;
  const source = await openSource(pipeline, from, '0', undefined);
  await expect(source.preflight(new AbortController().signal)).rejects.toThrow(AuthFailed);
  await source.close();
  return proxy.asked.slice(before).map((one) => new URL(one.split(' ')[1] ?? '').host);
};

test.each(['tracker', 'ads', 'workflow'])(
  'the %s is asked through the proxy of the environment',
  async (pipeline) => {
    expect(new Set(await asked(pipeline, config({})))).toEqual(new Set([`${pipeline}.example`]));
  },
);

test('the tokens of the ads platform are renewed through it, too', async () => {
  const renewed = config({
    ADS_ACCESS_TOKEN: '',
    ADS_CLIENT_ID: 'i',
    ADS_CLIENT_SECRET: 's',
    ADS_REFRESH_TOKEN: 'r',
    ADS_TOKEN_URL: 'http://login.example/token',
  });
  expect(await asked('ads', renewed)).toEqual(['login.example']);
});

test('webhooks have it as well', () => {
  const notified = config({
    TIDEMARK_WEBHOOK_URL: 'https://hook.example/1',
    TIDEMARK_SLACK_WEBHOOK_URL: 'https://hook.example/2',
  });
  expect(channelsOf(notified).map(({ proxies }) => proxies?.http?.reveal())).toEqual(
    Array(2).fill(`${proxy.url}/`),
  );
});
