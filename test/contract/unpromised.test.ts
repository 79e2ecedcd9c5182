import { afterEach, describe, expect, test } from 'vitest';
import { type Fault, htmlPage, status } from '../../simulators/shared/faults.ts';
import { AuthFailed, UnexpectedContent } from '../../src/core/errors.ts';
import { differences, fingerprint } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

let rig: Rig;
afterEach(() => rig.close());

const page = '<!doctype html><title>Welcome</title><div id="app"></div>';

type Manner = readonly [
  name: string,
  status: number,
  type: string,
  body: string,
  headers: Readonly<Record<string, string>>,
];

const spa: Manner = ['the page of an application', 200, 'text/html;charset=UTF-8', page, {}];

/** Ways of saying that a path is none, without a status that says so. */
const manners: readonly Manner[] = [
  ['400 and JSON', 400, 'application/json', '{"message":"no route"}', {}],
  ['403', 403, 'application/json', '{"message":"no such route"}', {}],
  ['400 and text', 400, 'text/plain', 'Bad request', {}],
  spa,
  ['a way to a login', 302, 'text/html', '', { location: '/login?back=1' }],
];

/** Says of every path that the server does not have what it says instead of 404. */
const saying = ([name, code, type, body, headers]: Manner): Fault => ({
  name,
  answer: (answer) =>
    answer.status === 404
      ? { status: code, headers: { 'content-type': type, ...headers }, body: Buffer.from(body) }
      : answer,
});
const always = { times: Number.POSITIVE_INFINITY };
const bare = { ...smallSite, issues: 40, dialect: 'contract', bare: true } as const;

test('a first run does not say that it goes on with a walk that was interrupted: what a server does not have it is only asked twice for', async () => {
  rig = await openRig(bare);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  const notes = rig.events.flatMap((event) => (event.type === 'note' ? [event.message] : []));
  expect(notes).toContain('search: offset paging with totals');
  expect(notes.filter((note) => note.includes('interrupted'))).toEqual([]);
});

describe.each(manners)('a tracker that has nothing beyond the contract and says so by %s', (...manner) => {
  test('is read like one that says 404, night after night, and why a stream is unavailable is told', async () => {
    rig = await openRig(bare);
    rig.tracker.script.at(always, saying(manner));
    for (let night = 0; night < 2; night += 1) {
      const report = await rig.sync();
      expect(report.streams.filter((one) => one.status === 'failed')).toEqual([]);
      expect(report).toMatchObject({ status: 'succeeded' });
      expect(await differences(rig, { bare: true })).toEqual([]);
      rig.tracker.clock.advance(86_400_000);
      rig.tracker.state.create('PAY');
    }
    const closed = await rig.rows<{ stream: string; reason: string }>(
      "select stream, reason from ops.streams where state = 'unavailable' and stream <> 'groups' order by 1",
    );
    expect(closed.map(({ stream }) => stream)).toEqual(
      expect.arrayContaining([
        'board_sprints',
        'changelog',
        'issue_types',
        'priorities',
        'sprints',
        'statuses',
      ]),
    );
    for (const { reason } of closed)
      expect(reason).toMatch(
        new RegExp(`answered ${manner[1]}.*; so does the server answer what it does not have$`),
      );
  });

  test('turns wrong credentials away all the same', async () => {
    rig = await openRig(bare);
    rig.tracker.script.at(always, saying(manner));
    await rig.sync();
    const before = await fingerprint(rig);
    const settings = { apiToken: { reveal: () => 'not-the-token' } };
    await expect(rig.sync({}, { settings })).rejects.toThrow(AuthFailed);
    await expect(rig.reconcile({}, { settings })).rejects.toThrow(AuthFailed);
    expect(await fingerprint(rig)).toEqual(before);
  });
});

const not405: Manner = ['405', 405, 'application/json', '{}', {}];

describe.each([not405, ...manners.slice(1, 3)])(
  'a reconciliation of a tracker that says by %s that single issues cannot be asked for',
  (...manner) => {
    test('loses no row, and says why it can conclude nothing', async () => {
      rig = await openRig({ ...bare, issues: 10 });
      rig.tracker.script.at(always, saying(manner));
      await rig.sync({ streams: ['issues'] });
      const [gone = ''] = rig.tracker.oracle().issues.keys();
      rig.tracker.state.delete(gone);
      const report = await rig.reconcile({ streams: ['issues'] });
      expect(report).toMatchObject({ status: 'needs_attention', streams: [{ status: 'attention' }] });
      expect(report.streams[0]?.reason).toMatch(
        /^issues: 1 row can no longer be seen, but no other row of their kind can either: they were not deleted.*no address/,
      );
      expect(await rig.rows('select id from tracker.issues where _deleted_at is not null')).toEqual([]);
    });
  },
);

describe('what is no sign of a missing endpoint', () => {
  test('an endpoint of the contract that shows a page fails, whatever else does', async () => {
    rig = await openRig(bare);
    rig.tracker.script.at(always, saying(spa));
    rig.tracker.script.at({ endpoint: '/rest/agile/1.0/board', ...always }, htmlPage);
    expect(await rig.sync()).toMatchObject({ status: 'partly_failed' });
    rig.tracker.script.at({ endpoint: '/rest/api/3/project/search', ...always }, htmlPage);
    await expect(rig.sync()).rejects.toThrow(UnexpectedContent);
  });

  test.each([
    ['a refusal', status(400)],
    ['a page', htmlPage],
  ])('%s where the server says 404 to what it does not have', async (_, fault) => {
    rig = await openRig({ ...bare, bare: false });
    rig.tracker.script.at({ endpoint: '/rest/api/3/status', ...always }, fault);
    const report = await rig.sync();
    expect(report.status).toBe('partly_failed');
    expect(report.streams.find(({ stream }) => stream === 'statuses')).toMatchObject({ status: 'failed' });
  });

  test('the same manners of what was there last night: it fails, until it is reset or comes back', async () => {
    rig = await openRig({ ...bare, bare: false });
    rig.tracker.script.at(always, saying(spa));
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    const before = await fingerprint(rig);
    const rule = rig.tracker.script.at({ endpoint: '/rest/api/3/status', ...always }, htmlPage);
    rig.tracker.script.at({ endpoint: '/rest/agile/1.0/board/{id}/sprint', ...always }, htmlPage);
    const report = await rig.sync();
    expect(report.status).toBe('partly_failed');
    for (const name of ['statuses', 'sprints', 'board_sprints'])
      expect(report.streams.find(({ stream }) => stream === name)).toMatchObject({
        status: 'failed',
        reason: expect.stringMatching(new RegExp(`it was there before.*tidemark reset tracker.${name}`)),
      });
    expect(await fingerprint(rig)).toEqual(before);
    await rig.during(async ({ warehouse }) => {
      const { resetStream } = await import('../../src/engine/reset.ts');
      await resetStream(warehouse, 'tracker', 'statuses');
    });
    const again = await rig.sync();
    expect(again.streams.find(({ stream }) => stream === 'statuses')).toMatchObject({
      status: 'unavailable',
    });
    rule.cancel();
    rig.tracker.script.clear();
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  });

  test.each([400, 403])(
    'a moment in which everything beyond the contract is answered %i: the board that met it has its sprints',
    async (code) => {
      rig = await openRig({ ...bare, bare: false });
      rig.tracker.script.at(
        { match: ({ path }) => path.endsWith('/tidemark-asks-what-is-not-there') },
        status(code),
      );
      const rule = rig.tracker.script.at({ endpoint: '/rest/agile/1.0/board/{id}/sprint' }, status(code));
      expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
      expect(rule.fired).toBe(1);
      expect(await differences(rig)).toEqual([]);
    },
  );

  test('the same manners of everything, in the first sync of all: a server that answers nothing as it should is ill', async () => {
    rig = await openRig({ ...bare, bare: false });
    const paths = ['/rest/api/3/status', '/rest/api/3/tidemark-asks-what-is-not-there'];
    const isControl = (path: string, most: unknown) => path.endsWith('/project/search') && Number(most) === 1;
    rig.tracker.script.at(
      { ...always, match: ({ path, query }) => paths.includes(path) || isControl(path, query.maxResults) },
      status(422),
    );
    const report = await rig.sync();
    expect(report.status).toBe('partly_failed');
    expect(report.streams.find(({ stream }) => stream === 'statuses')).toMatchObject({ status: 'failed' });
  });

  test('a page in the place of one board, where others have their sprints', async () => {
    rig = await openRig({ ...bare, bare: false });
    rig.tracker.script.at(always, saying(spa));
    const rule = rig.tracker.script.at(
      { match: ({ path }) => path.includes('/board/1/'), ...always },
      htmlPage,
    );
    expect(await rig.sync()).toMatchObject({ status: 'partly_failed' });
    rule.cancel();
    expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig)).toEqual([]);
  });
});
