import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Receiver, startReceiver } from '../outbound/receiver.ts';
import { tidemark } from './command.ts';

let hook: Receiver;
let slack: Receiver;
beforeEach(async () => {
  hook = await startReceiver();
  slack = await startReceiver();
});
afterEach(() => Promise.all([hook.close(), slack.close()]));

const both = () => ({
  env: {
    TIDEMARK_WEBHOOK_URL: hook.url,
    TIDEMARK_WEBHOOK_SECRET: 'whsec of the test',
    TIDEMARK_SLACK_WEBHOOK_URL: slack.url,
  },
});

test('notify test sends one message to each channel, signed where the others are', async () => {
  const { code, out } = await tidemark('notify test --json', both());
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({
    sent: [
      { channel: 'webhook', problem: null },
      { channel: 'slack', problem: null },
    ],
  });
  const [message] = hook.received;
  expect(JSON.parse(message?.body ?? '')).toMatchObject({
    type: 'pipeline.test',
    data: { event: 'test', state: 'ok', run: null },
  });
  expect(message?.headers['webhook-signature']).toMatch(/^v1,/);
  expect(slack.received.map(({ body }) => JSON.parse(body).text)).toEqual([
    expect.stringContaining('sends a test message'),
  ]);
});

test('notify test names the channel that did not take it, and ends with 3, of all channels with 1', async () => {
  slack.answers.push(404, 404);
  hook.answers.push(204, 'drop');
  const one = await tidemark('notify test', both());
  expect(one.code).toBe(3);
  expect(one.out).toMatch(/^webhook +ok +–$/m);
  expect(one.out).toMatch(/^slack +failed +slack answered 404$/m);
  expect(one.out + one.err).not.toContain('very-secret-path');
  expect((await tidemark('notify test', both())).code).toBe(1);
});

test('notify test without a channel says which variables to set', async () => {
  const { code, err } = await tidemark('notify test');
  expect(code).toBe(2);
  expect(err).toContain('TIDEMARK_SLACK_WEBHOOK_URL');
});
