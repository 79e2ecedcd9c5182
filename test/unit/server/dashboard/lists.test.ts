import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { silence } from '../../../../simulators/shared/faults.ts';
import type { Channel } from '../../../../src/outbound/channel.ts';
import { recordHealth } from '../../../../src/outbound/health.ts';
import { type Receiver, startReceiver } from '../../outbound/receiver.ts';
import { openScene, type Scene } from './scene.ts';
import { textOf, type Visitor, visitor } from './visitor.ts';

let scene: Scene;
let person: Visitor;
let receiver: Receiver;
/** Where messages go: the tests of alerts fill it. */
const channels: Channel[] = [];

/** A site that was synced. */
beforeAll(async () => {
  receiver = await startReceiver();
  scene = await openScene({ channels });
  person = visitor(scene.app);
  await scene.rig.sync();
});
afterAll(async () => {
  await scene.close();
  await receiver.close();
});

const shown = async (address: string): Promise<string> => textOf((await person.get(address)).body);

/** Deletes issues of a project at the source, which are more than that were there before, and reconciles. */
async function reconcileWithout(count: number): Promise<readonly string[]> {
  const { rig, idle } = scene;
  const gone = [...rig.tracker.oracle().issues.values()]
    .filter(({ projectKey, deleted }) => projectKey === 'PAY' && !deleted)
    .slice(0, count);
  for (const { id } of gone) rig.tracker.state.delete(id);
  rig.tracker.clock.advance(60_000);
  const { headers } = await person.send('/deletions', '/pipelines/tracker/reconcile');
  expect(headers.location).toMatch(/^\/requests\/tracker\/tracker-reconcile-/);
  await idle();
  return gone.map(({ key }) => key);
}

describe('deletions', () => {
  test('are said to be none before the first reconcile', async () => {
    expect(await shown('/deletions')).toMatch(
      /● No deletion is held back\. .* Found deletions Nothing yet\./,
    );
  });

  test('are listed by run, and each run with the rows that it marked', async () => {
    const gone = await reconcileWithout(2);
    expect(await shown('/deletions')).toMatch(/just now tracker issues 2 2 reconcile/);
    const { body } = await person.get('/deletions');
    expect(body).toContain('href="/deletions?run=2"');
    const rows = await shown('/deletions?run=2');
    for (const key of gone) expect(rows).toMatch(new RegExp(` tracker ${key} tracker\\.issues `));
    expect(await shown('/deletions?run=1')).toContain('Deleted rows Nothing yet.');
  });

  test('that the guard holds back are named, with the reason, the next step and its button', async () => {
    await reconcileWithout(25);
    const text = await shown('/deletions');
    expect(text).toContain('▲ The deletion guard holds deletions back.');
    expect(text).toMatch(/issues: more than 20 of \d+ rows are gone at the source; nothing was deleted/);
    expect(text).toContain('Look first whether npx tidemark check prints the right address and account');
    expect(text).toMatch(/Reconcile (\d+, ){9}\d+ and 15 others just now 3 /);
    expect((await person.get('/deletions')).body).toContain('formaction="/pipelines/tracker/reconcile"');
  });
});

describe('the audit', () => {
  test('says who asked for what, where, and what was refused', async () => {
    await person.post('/pipelines/tracker/start', {});
    const text = await shown('/audit');
    expect(text).toMatch(
      /just now tracker start ▲ refused no token needed 127\.0\.0\.1 dashboard .* tracker reconcile ● done no token needed 127\.0\.0\.1 dashboard/,
    );
    expect((await person.get('/audit')).body).toMatch(
      /href="\/requests\/tracker\/tracker-reconcile-[^"]+">request</,
    );
  });

  test('is read page by page, and filtered by the address', async () => {
    await scene.rig.rows(`insert into ops.audit (at, role, address, action, pipeline, params, http_status)
      select '2020-01-01', 'operate', '10.0.0.' || n % 200, 'POST /api/v1/dags/:dagName/start', 'ads', 'N=' || n, 202
      from generate_series(1, 150) n`);
    const numbers = async (address: string) =>
      [...(await shown(address)).matchAll(/ ads start N=(\d+) ● done operate token 10\.0\.0\.\d+ API /g)].map(
        ([, n]) => n,
      );
    const first = await numbers('/audit?pipeline=ads');
    expect(first).toHaveLength(100);
    expect((await person.get('/audit?pipeline=ads')).body).toContain('href="/audit?pipeline=ads&amp;page=2"');
    const both = [...first, ...(await numbers('/audit?pipeline=ads&page=2'))];
    expect(new Set(both).size).toBe(150);
    expect(await shown('/audit?pipeline=none')).toContain('Attempts Nothing yet.');
  });
});

describe('rejects', () => {
  /** The numbers of the rejects of two records that came without an instant. */
  let ids: readonly string[];
  beforeAll(async () => {
    const { rig } = scene;
    for (const { id } of [...rig.tracker.oracle().issues.values()]
      .filter((each) => !each.deleted)
      .slice(0, 2))
      rig.tracker.state.setRaw(id, 'created', '"no instant"');
    await rig.sync({ streams: ['issues'], full: true });
    const found = await rig.rows<{ id: string }>(
      `select reject_id::text as id from ops.rejects where code = 'bad_instant' order by reject_id`,
    );
    ids = found.map(({ id }) => id);
  });
  const stateOf = async (id = '') =>
    (await scene.rig.rows<{ status: string }>('select status from ops.rejects where reject_id = $1', [id]))[0]
      ?.status;
  const act = (id = '', name: string) => person.send(`/rejects/${id}`, `/rejects/${id}/${name}`);

  test('are listed with record, field and reason, and each page says what to do next', async () => {
    const text = await shown('/rejects?stream=issues');
    expect(text).toContain('▲ Records could not become rows.');
    expect(text).toMatch(
      new RegExp(` ${ids[0]} tracker issues \\d+ fields\\.created .*no instant.* bad_instant just now `),
    );
    expect(await shown('/rejects?code=none')).toContain('Open rejects Nothing yet.');
    expect(await shown(`/rejects/${ids[0]}`)).toContain(
      'Correct it at the source: the next sync that reads it resolves the reject.',
    );
  });

  test('one that is still no row says so after a replay, and one that becomes a row is settled', async () => {
    const [id] = ids;
    const { headers } = await act(id, 'replay');
    expect(await shown(headers.location ?? '')).toContain(
      'It was tried again, and still does not become a row.',
    );
    await scene.rig.rows(
      `update ops.rejects set payload = convert_to(replace(convert_from(payload, 'utf8'), 'no instant', '2026-03-01T00:00:00.000+0000'), 'utf8')
       where reject_id = $1`,
      [id],
    );
    await act(id, 'replay');
    expect(await stateOf(id)).toBe('replayed');
    expect(await shown('/rejects?all=1')).toMatch(new RegExp(` ${id} tracker issues .* ● replayed`));
    expect(await shown('/audit')).toMatch(new RegExp(` replay ${id} ● done `));
    expect((await person.send('/rejects', '/rejects/999999/replay')).status).toBe(404);
  });

  test('a replay while a run holds the pipeline is refused with that reason', async () => {
    const { rig } = scene;
    const held = rig.tracker.script.at(
      { match: ({ endpoint }) => endpoint.includes('search/jql'), times: Number.POSITIVE_INFINITY },
      silence,
    );
    const { headers } = await person.send('/', '/pipelines/tracker/start');
    await expect.poll(() => held.fired).toBeGreaterThan(0);
    const refused = await act(ids[1], 'replay');
    expect([refused.status, textOf(refused.body)]).toEqual([
      409,
      expect.stringMatching(/Tracker: run \d+ of .* holds the pipeline since/),
    ]);
    await person.send(headers.location ?? '', `${headers.location}/stop`);
    rig.tracker.script.clear();
    await scene.idle();
  });

  test('a dismissed one counts no more, stays dismissed when a run meets the same bytes, and can be opened again', async () => {
    const [, id] = ids;
    await act(id, 'dismiss');
    expect(await shown('/rejects')).toContain('● Every record became a row.');
    await scene.rig.sync({ streams: ['issues'], full: true });
    const [{ attempts } = {}] = await scene.rig.rows<{ attempts: number }>(
      'select attempts from ops.rejects where reject_id = $1',
      [id],
    );
    expect([await stateOf(id), attempts]).toEqual(['dismissed', 2]);
    await act(id, 'reopen');
    expect(await stateOf(id)).toBe('open');
  });
});

describe('alerts', () => {
  const sendTests = () => person.send('/alerts', '/alerts/test');

  test('say which variables set a channel, where none is set', async () => {
    const { status, body } = await sendTests();
    expect([status, textOf(body)]).toEqual([
      409,
      expect.stringContaining('No channel of messages is set: docs/guides/alerts.md names their variables.'),
    ]);
    expect(await shown('/alerts')).toMatch(/● No message waits for its channel\. .* Messages Nothing yet\./);
  });

  test('list a test message with its channel and when it arrived', async () => {
    channels.push({ name: 'webhook', url: { reveal: () => receiver.url } });
    expect((await sendTests()).headers.location).toBe('/alerts');
    const sent = JSON.parse(receiver.received[0]?.body ?? '{}');
    expect(sent).toMatchObject({ type: 'pipeline.test' });
    expect(await shown('/alerts')).toMatch(
      /Tidemark sends a test message: nothing is wrong tidemark webhook ● sent just now just now 1 –/,
    );
    const [row] = await scene.rig.rows('select notification_id as id from ops.notifications');
    expect(row).toEqual({ id: receiver.received[0]?.headers['webhook-id'] });
  });

  test('say which channel did not take a message and why, until it takes one', async () => {
    receiver.answers.push(404);
    await sendTests();
    const { body } = await person.get('/alerts');
    expect(textOf(body)).toMatch(
      /▲ Messages did not arrive\. .* Undelivered .* nothing is wrong tidemark webhook ✕ given up .*404.* just now 1 /,
    );
    expect(body).not.toContain('very-secret-path');
    await sendTests();
    expect(await shown('/alerts')).toContain('● No message waits for its channel.');
  });

  test('list what people were told of a pipeline', async () => {
    const { rig } = scene;
    const finding = {
      pipeline: 'tracker',
      state: 'stuck',
      which: null,
      cause: 'no progress for 15 minutes',
    } as const;
    await recordHealth(rig.database.warehouse.db, channels, finding);
    expect(await shown('/alerts?pipeline=tracker')).toMatch(
      /tracker is stuck: its run makes no progress: no progress for 15 minutes tracker webhook ◐ pending just now – 0 –/,
    );
  });
});

test('settings are shown by pipeline with where each comes from, and no secret', async () => {
  const { body } = await person.get('/settings');
  const text = textOf(body);
  expect(text).toMatch(
    / Setting Value From Pipeline .* TRACKER_BASE_URL https:\/\/tracker\.example environment tracker /,
  );
  expect(text).toContain(' TRACKER_API_TOKEN *** environment ');
  expect(text).toMatch(/ LOG_LEVEL – default – .* TIDEMARK_PORT 9000 environment – /);
  expect(body).not.toContain('a token that no page shows');
});
