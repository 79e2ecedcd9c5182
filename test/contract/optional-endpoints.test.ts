import { expect, test } from 'vitest';
import { htmlPage, status } from '../../simulators/shared/faults.ts';
import { UnexpectedContent } from '../../src/core/errors.ts';
import { resetStream } from '../../src/engine/reset.ts';
import { issueDifferences } from '../support/oracle.ts';
import { testRig } from '../support/rig.ts';

const always = { times: Number.POSITIVE_INFINITY };
const bare = { issues: 40, dialect: 'contract', bare: true } as const;

test('a server with nothing beyond the contract: no read is noted as interrupted, and a page for a list fails', async () => {
  const rig = await testRig(bare);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  const notes = rig.events.flatMap((event) => (event.type === 'note' ? [event.message] : []));
  expect(notes).toContain('search: offset paging with totals');
  expect(notes.filter((note) => note.includes('interrupted'))).toEqual([]);
  rig.tracker.script.at({ endpoint: '/rest/agile/1.0/board', ...always }, htmlPage);
  expect(await rig.sync()).toMatchObject({ status: 'partly_failed' });
  rig.tracker.script.at({ endpoint: '/rest/api/3/project/search', ...always }, htmlPage);
  await expect(rig.sync()).rejects.toThrow(UnexpectedContent);
});

test('a reconcile of a tracker without single issues (405) deletes nothing and says why', async () => {
  const rig = await testRig({ ...bare, issues: 10 });
  rig.tracker.script.at(always, {
    name: '405',
    answer: (answer) => (answer.status === 404 ? { ...answer, status: 405 } : answer),
  });
  await rig.sync({ streams: ['issues'] });
  const [gone = ''] = rig.tracker.oracle().issues.keys();
  rig.tracker.state.delete(gone);
  const report = await rig.reconcile({ streams: ['issues'] });
  expect(report).toMatchObject({ status: 'needs_attention', streams: [{ status: 'attention' }] });
  expect(report.streams[0]?.reason).toMatch(
    /^issues: 1 row can no longer be seen, but .*no other row of their kind can be seen either: they were not deleted.*no address/,
  );
  expect(await rig.rows('select id from tracker.issues where _deleted_at is not null')).toEqual([]);
});

test.each([
  ['400', status(400)],
  ['a page', htmlPage],
])('an optional endpoint that answers with %s fails its stream', async (_, fault) => {
  const rig = await testRig({ issues: 10, dialect: 'contract' });
  rig.tracker.script.at({ endpoint: '/rest/api/3/status', ...always }, fault);
  const { status: outcome, streams } = await rig.sync({ streams: ['statuses', 'projects'] });
  expect(outcome).toBe('partly_failed');
  expect(streams.find(({ stream }) => stream === 'statuses')).toMatchObject({ status: 'failed' });
});

test('an optional list of fields that answers 401 costs no issue and no value', async () => {
  const rig = await testRig({ dialect: 'contract' });
  const rule = rig.tracker.script.at({ endpoint: '/rest/api/3/field', ...always }, status(401));
  const report = await rig.sync({ streams: ['fields', 'issues'] });
  expect(rule.fired).toBeGreaterThan(0);
  const statuses = report.streams.map(({ stream, status: outcome }) => [stream, outcome]);
  expect(statuses).toEqual([
    ['fields', 'ok'],
    ['issues', 'ok'],
  ]);
  expect(await issueDifferences(rig)).toEqual([]);
});

/** Guarantee G13: a night that lacks what the night before had is not green. A site without Jira Software is. */
test('boards that were there before and answer 404 fail, until a reset says that they are gone', async () => {
  const rig = await testRig({ issues: 10, dialect: 'vendor' });
  const boards = { streams: ['boards'] };
  await rig.sync(boards);
  const rule = rig.tracker.script.at({ endpoint: '/rest/agile/1.0/board', ...always }, status(404));
  const report = await rig.sync(boards);
  expect(rule.fired).toBeGreaterThan(1);
  expect(report.streams).toMatchObject([{ status: 'failed' }]);
  expect(report.streams[0]?.reason).toMatch(/it was there before.*tidemark reset tracker\.boards/);
  expect(await rig.rows('select from tracker.boards where _deleted_at is not null')).toEqual([]);
  await resetStream(rig.database.warehouse, 'tracker', 'boards');
  expect((await rig.sync(boards)).streams).toMatchObject([{ status: 'unavailable' }]);
});
