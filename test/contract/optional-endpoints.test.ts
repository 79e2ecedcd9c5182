import { afterEach, expect, test } from 'vitest';
import { htmlPage, status } from '../../simulators/shared/faults.ts';
import { UnexpectedContent } from '../../src/core/errors.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

let rig: Rig;
afterEach(() => rig.close());

const always = { times: Number.POSITIVE_INFINITY };
const bare = { ...smallSite, issues: 40, dialect: 'contract', bare: true } as const;

test('a first run at a server with nothing beyond the contract speaks of no interrupted walk', async () => {
  rig = await openRig(bare);
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  const notes = rig.events.flatMap((event) => (event.type === 'note' ? [event.message] : []));
  expect(notes).toContain('search: offset paging with totals');
  expect(notes.filter((note) => note.includes('interrupted'))).toEqual([]);
});

test('a reconciliation of a tracker without single issues (405) loses no row, and says why it concludes nothing', async () => {
  rig = await openRig({ ...bare, issues: 10 });
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
    /^issues: 1 row can no longer be seen, but no other row of their kind can either: they were not deleted.*no address/,
  );
  expect(await rig.rows('select id from tracker.issues where _deleted_at is not null')).toEqual([]);
});

test('an endpoint of the contract that shows a page fails', async () => {
  rig = await openRig(bare);
  rig.tracker.script.at({ endpoint: '/rest/agile/1.0/board', ...always }, htmlPage);
  expect(await rig.sync()).toMatchObject({ status: 'partly_failed' });
  rig.tracker.script.at({ endpoint: '/rest/api/3/project/search', ...always }, htmlPage);
  await expect(rig.sync()).rejects.toThrow(UnexpectedContent);
});

test.each([
  ['a refusal', status(400)],
  ['a page', htmlPage],
])('%s in place of an optional endpoint fails its stream', async (_, fault) => {
  rig = await openRig({ ...bare, bare: false });
  rig.tracker.script.at({ endpoint: '/rest/api/3/status', ...always }, fault);
  const report = await rig.sync();
  expect(report.status).toBe('partly_failed');
  expect(report.streams.find(({ stream }) => stream === 'statuses')).toMatchObject({ status: 'failed' });
});
