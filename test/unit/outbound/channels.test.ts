import os from 'node:os';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { SMTPServerOptions } from 'smtp-server';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Channel } from '../../../src/outbound/channel.ts';
import type { Finding } from '../../../src/outbound/health.ts';
import { checkHealth } from '../../../src/outbound/outbound.ts';
import { good, key } from '../../support/certificates.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { type MailServer, startMailServer } from './mail-server.ts';
import { startReceiver } from './receiver.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.drop());
beforeEach(() => query('truncate ops.health, ops.notifications'));

const query = (text: string) => database.warehouse.pool.query(text).then(({ rows }) => rows);
const hidden = (text: string) => ({ reveal: () => text });
const cause = 'GET /myself answered 401: „Läuft ab“';

/** Finds the pipeline in this state, and sends what is due. */
const finds = (channel: Channel, state: Finding['state'], pipeline = 'tracker'): Promise<void> => {
  const finding = { pipeline, state, which: { run: '12' }, cause: state === 'ok' ? null : cause };
  const outbound = { db: database.warehouse.db, channels: [channel], onSuccess: {} };
  return checkHealth(outbound, [], [finding], new AbortController().signal);
};
const everythingIsDue = () => query('update ops.notifications set next_at = clock_timestamp()');
const outbox = () =>
  query('select event, status, attempts, error from ops.notifications order by created_at');

describe('PagerDuty', () => {
  const integration = 'k'.repeat(32);
  const pagerDuty = async () => {
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const channel = { name: 'pagerduty', url: hidden(receiver.url), secret: hidden(integration) } as const;
    return { ...receiver, channel, events: () => receiver.received.map(({ body }) => JSON.parse(body)) };
  };

  test('a pipeline that fails is an alert with the documented fields', async () => {
    const { channel, events } = await pagerDuty();
    await finds(channel, 'failed');
    const [{ since }] = await query('select since from ops.health');
    expect(events()).toEqual([
      {
        routing_key: integration,
        event_action: 'trigger',
        dedup_key: 'tidemark/tracker',
        client: 'Tidemark',
        payload: {
          summary: 'tracker failed',
          source: os.hostname(),
          severity: 'error',
          timestamp: since.toISOString(),
          component: 'tracker',
          class: 'failed',
          custom_details: { cause, run: '12', next: 'tidemark runs 12' },
        },
      },
    ]);
  });

  test('a pipeline has one alert: other states and the reminder are added to it, the recovery resolves it', async () => {
    const { channel, events } = await pagerDuty();
    await finds(channel, 'partly_failed');
    await finds(channel, 'stuck', 'ads');
    await finds(channel, 'failed');
    await query(`update ops.health set notified_at = clock_timestamp() - interval '25 hours'`);
    await finds(channel, 'failed');
    await finds(channel, 'ok');
    const alert = { routing_key: integration, dedup_key: 'tidemark/tracker' };
    const trigger = { ...alert, event_action: 'trigger' };
    expect(events()).toEqual([
      { ...trigger, client: 'Tidemark', payload: expect.objectContaining({ severity: 'warning' }) },
      expect.objectContaining({ event_action: 'trigger', dedup_key: 'tidemark/ads' }),
      { ...trigger, client: 'Tidemark', payload: expect.objectContaining({ severity: 'error' }) },
      {
        ...trigger,
        client: 'Tidemark',
        payload: expect.objectContaining({ summary: 'tracker is still failed' }),
      },
      { ...alert, event_action: 'resolve' },
    ]);
  });

  test('an event that is refused is given up at once, and the next one is sent', async () => {
    const { channel, events, answers } = await pagerDuty();
    answers.push(400, 202);
    await finds(channel, 'failed');
    const error = 'pagerduty answered 400: it refuses the message, which is not sent again';
    expect(await outbox()).toMatchObject([{ status: 'given_up', attempts: 1, error }]);
    await everythingIsDue();
    await finds(channel, 'ok');
    expect(await outbox()).toMatchObject([{ status: 'given_up' }, { status: 'sent', error: null }]);
    expect(events().map(({ event_action: action }) => action)).toEqual(['trigger', 'resolve']);
  });

  test.each([403, 404, 408, 429])(
    'an event is sent again after %i, and no error shows the key',
    async (status) => {
      const { channel, events, answers } = await pagerDuty();
      answers.push(status, 202);
      await finds(channel, 'failed');
      expect(await outbox()).toMatchObject([{ status: 'pending', error: `pagerduty answered ${status}` }]);
      await everythingIsDue();
      await finds(channel, 'failed');
      expect(await outbox()).toMatchObject([{ status: 'sent', attempts: 2, error: null }]);
      expect(events()[1]).toEqual(events()[0]);
      expect(answers).toEqual([]);
    },
  );
});

describe('e-mail', () => {
  const mailServer = async (options?: SMTPServerOptions): Promise<MailServer> => {
    const server = await startMailServer(options);
    onTestFinished(() => server.close());
    return server;
  };
  const email = (url: string, ...to: readonly string[]): Channel => ({
    name: 'email',
    url: hidden(url),
    from: 'tidemark@example.com',
    to: ['ops@example.com', ...to],
  });
  const idOf = (text = ''): string | undefined => /^Message-ID: (.*)$/m.exec(text)?.[1];

  test('says in plain text what failed, since when, why, and what to do', async () => {
    const server = await mailServer();
    const channel = email(`smtp://me:p%40ss@127.0.0.1:${server.port}`, 'data@example.com');
    await finds(channel, 'failed');
    await finds(channel, 'ok');
    expect(await outbox()).toMatchObject([{ status: 'sent', error: null }, { status: 'sent' }]);
    expect(server.logins).toEqual(['me:p@ss', 'me:p@ss']);
    const [failed, recovered] = server.received;
    expect(failed?.to).toEqual(['ops@example.com', 'data@example.com']);
    for (const line of [
      /^From: tidemark@example\.com\r$/m,
      /^To: ops@example\.com, data@example\.com\r$/m,
      /^Subject: Tidemark: tracker failed\r$/m,
      /^Auto-Submitted: auto-generated\r$/m,
      /^Content-Type: text\/plain; charset=utf-8\r$/m,
      /^tracker failed\r\nsince \d{4}-\d\d-\d\d \d\d:\d\d UTC\r\nGET \/myself answered 401: „Läuft ab“\r\n\r\ntidemark runs 12\r\n/m,
    ])
      expect(failed?.text).toMatch(line);
    expect(recovered?.text).toMatch(/^tracker is well again\r\nsince .* UTC\r\n\r\ntidemark status\r\n/m);
  });

  test('a message that the server does not take is sent again with the same id', async () => {
    const refusals = [Object.assign(new Error('try later'), { responseCode: 451 })];
    const server = await mailServer({ onMailFrom: (_address, _session, done) => done(refusals.shift()) });
    const channel = email(`smtp://127.0.0.1:${server.port}`);
    await finds(channel, 'failed');
    const error = 'email could not be sent: EENVELOPE, the server answered 451';
    expect(await outbox()).toMatchObject([{ status: 'pending', error }]);
    await everythingIsDue();
    await finds(channel, 'failed');
    expect(await outbox()).toMatchObject([{ status: 'sent', attempts: 2, error: null }]);
    const [{ notification_id: id }] = await query('select notification_id from ops.notifications');
    expect(server.received.map(({ text }) => idOf(text))).toEqual([`<${id}@example.com>`]);
  });

  test('a message that the server refuses for good is given up at once', async () => {
    const refusal = Object.assign(new Error('too big'), { responseCode: 552 });
    const server = await mailServer({ onMailFrom: (_address, _session, done) => done(refusal) });
    await finds(email(`smtp://127.0.0.1:${server.port}`), 'failed');
    const error = expect.stringMatching(/552: it refuses the message, which is not sent again$/);
    expect(await outbox()).toMatchObject([{ status: 'given_up', attempts: 1, error }]);
  });

  test('a recipient whom the server refuses is named, and the others get the message once', async () => {
    const server = await mailServer({
      onRcptTo: ({ address }, _session, done) =>
        done(address.startsWith('gone') ? new Error('no such mailbox') : undefined),
    });
    await finds(email(`smtp://127.0.0.1:${server.port}`, 'gone@example.com'), 'failed');
    const error = 'the mail server refused gone@example.com';
    expect(await outbox()).toMatchObject([{ status: 'sent', attempts: 1, error }]);
    expect(server.received).toMatchObject([{ to: ['ops@example.com'] }]);
  });

  test('an error shows neither the user nor the password', async () => {
    const server = await mailServer();
    await finds(email(`smtp://someone:wrong@127.0.0.1:${server.port}`), 'failed');
    const error = 'email could not be sent: EAUTH, the server answered 535';
    expect(await outbox()).toMatchObject([{ status: 'pending', error }]);
    await query('truncate ops.health, ops.notifications');
    await server.close();
    await finds(email(`smtp://someone:wrong@127.0.0.1:${server.port}`), 'failed');
    expect(await outbox()).toMatchObject([
      { error: expect.stringMatching(/^email could not be sent: \w+$/) },
    ]);
  });

  // Linux takes 0.0.0.0 for this machine; to Tidemark it is another one.
  test.runIf(process.platform === 'linux')(
    'no password and no message goes to another machine in the clear',
    async () => {
      const plain = await mailServer();
      const unknown = await mailServer({ disabledCommands: [], key, cert: good });
      for (const { port } of [plain, unknown]) {
        await query('truncate ops.health, ops.notifications');
        await finds(email(`smtp://me:secret@0.0.0.0:${port}`), 'failed');
        const error = expect.stringMatching(/^email could not be sent: (ETLS|ESOCKET)/);
        expect(await outbox()).toMatchObject([{ status: 'pending', error }]);
      }
      expect([plain, unknown].flatMap(({ logins, received }) => [...logins, ...received])).toEqual([]);
    },
  );

  test('smtps goes to a server with a valid certificate alone', async () => {
    const server = await mailServer({ secure: true, key, cert: good });
    const channel = email(`smtps://me:secret@127.0.0.1:${server.port}`);
    await finds(channel, 'failed');
    expect(await outbox()).toMatchObject([{ status: 'pending' }]);
    expect(server.logins).toEqual([]);
    const before = getCACertificates('default');
    setDefaultCACertificates([...before, good]);
    onTestFinished(() => setDefaultCACertificates(before));
    await everythingIsDue();
    await finds(channel, 'failed');
    expect(await outbox()).toMatchObject([{ status: 'sent' }]);
    expect(server.received).toHaveLength(1);
  });
});
