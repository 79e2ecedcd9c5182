import { afterEach, expect, test } from 'vitest';
import { total } from '../../../simulators/shared/faults.ts';
import { Interrupted } from '../../../src/core/errors.ts';
import { differences } from '../../support/oracle.ts';
import { openRig, type Rig } from '../../support/rig.ts';

let rig: Rig;
const day = 86_400_000;
afterEach(() => rig.close());

const search = { endpoint: '/rest/api/3/search/jql', method: 'POST' } as const;
const summaryOf = async (id: string): Promise<string | undefined> =>
  (await rig.rows<{ summary: string }>('select summary from tracker.issues where id = $1', [id]))[0]?.summary;

test('a run that finishes an interrupted first walk also reads what has changed since that walk began', async () => {
  rig = await openRig({ dialect: 'vendor', issues: 350, history: 0 });
  const stop = new AbortController();
  const rule = rig.tracker.script.at({ ...search, nth: 5 }, () => stop.abort(new Interrupted('stopped')));
  await expect(rig.sync({ streams: ['issues'] }, { signal: stop.signal })).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
  rig.tracker.state.update('10001', { summary: 'changed between the runs' });
  const report = await rig.sync({ streams: ['issues'] });
  expect(report.status).toBe('succeeded');
  expect(await summaryOf('10001')).toBe('changed between the runs');
});

test('a run that finishes an interrupted list shows it as it is now, also those parts that were read before', async () => {
  rig = await openRig({ dialect: 'vendor', issues: 60, projects: 4, history: 0 });
  const streams = ['boards', 'sprints', 'board_sprints'];
  const stop = new AbortController();
  const sprints = { endpoint: '/rest/agile/1.0/board/{id}/sprint' } as const;
  const isRead = 'select distinct (board_id)::text as id from tracker.board_sprints';
  await rig.sync({ streams: ['boards', 'sprints'] });
  const rule = rig.tracker.script.at({ ...sprints, nth: 4 }, () => stop.abort(new Interrupted('stopped')));
  const cut = rig.sync({ streams: ['board_sprints'] }, { signal: stop.signal, deps: { concurrency: 1 } });
  await expect(cut).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
  const [board] = await rig.rows<{ id: string }>(isRead);
  const { sprints: all } = rig.tracker.state;
  const [id = 0] = [...all].find(([, sprint]) => String(sprint.boardId) === board?.id) ?? [];
  all.delete(id);
  expect(await rig.sync({ streams })).toMatchObject({ status: 'succeeded' });
  expect(await rig.rows('select from tracker.board_sprints where sprint_id = $1', [id])).toEqual([]);
});

test('a slice whose total never adds up stays red, moves no watermark, and does not keep new issues out', async () => {
  rig = await openRig({ dialect: 'contract', issues: 120, history: 0 });
  rig.tracker.script.at(
    { ...search, times: Number.POSITIVE_INFINITY },
    total((truth) => truth + 1),
  );
  const first = await rig.sync({ streams: ['issues'] });
  expect(first.streams[0]).toMatchObject({ status: 'partial', counts: { inserted: 120 } });
  const { id } = rig.tracker.state.create('WEB', { summary: 'new after the first walk' });
  rig.tracker.state.update('10002', { summary: 'changed after the first walk' });
  const second = await rig.sync({ streams: ['issues'] });
  expect(second.status).not.toBe('succeeded');
  expect(await summaryOf(id)).toBe('new after the first walk');
  expect(await summaryOf('10002')).toBe('changed after the first walk');
  expect(await rig.rows('select * from ops.checkpoints')).toEqual([]);
  rig.tracker.script.clear();
  const third = await rig.sync({ streams: ['issues'] });
  expect(third.status).toBe('succeeded');
  expect(await rig.rows('select stream from ops.checkpoints')).toEqual([{ stream: 'issues' }]);
});

test('where changes are found by `created`, a window that never adds up does not keep new issues out either', async () => {
  rig = await openRig(
    { dialect: 'contract', issues: 2_400, projects: 8, years: 3, history: 0 },
    { changes: 'created' },
  );
  rig.tracker.script.at(
    {
      ...search,
      times: Number.POSITIVE_INFINITY,
      match: ({ body }) => /created <[^=]/.test(JSON.stringify(body)),
    },
    total((truth) => truth + 1),
  );
  expect((await rig.sync({ streams: ['issues'] })).streams[0]).toMatchObject({ status: 'partial' });
  rig.tracker.clock.advance(day);
  const { id } = rig.tracker.state.create('WEB', { summary: 'new after the first walk' });
  expect((await rig.sync({ streams: ['issues'] })).status).not.toBe('succeeded');
  expect(await summaryOf(id)).toBe('new after the first walk');
  rig.tracker.script.clear();
  expect((await rig.sync({ streams: ['issues'] })).status).toBe('succeeded');
  expect(await rig.rows("select from ops.walks where status = 'open'")).toEqual([]);
});

/** A sync, window by window, that is stopped when it asks for the n-th page of whole issues. */
const interruptAt = async (nth: number, how: Parameters<Rig['sync']>[0], settings = {}): Promise<void> => {
  const stop = new AbortController();
  const page = {
    ...search,
    nth,
    match: ({ body }: { readonly body: unknown }) => /summary/.test(JSON.stringify(body)),
  };
  const rule = rig.tracker.script.at(page, () => stop.abort(new Interrupted('stopped')));
  await expect(rig.sync(how, { signal: stop.signal, settings, deps: { concurrency: 1 } })).rejects.toThrow(
    Interrupted,
  );
  expect(rule.fired).toBe(1);
};

test('a full walk that was begun with another filter moves no watermark of this one', async () => {
  rig = await openRig({ dialect: 'contract', issues: 2_400, projects: 8, years: 3, history: 0 });
  const { state, clock } = rig.tracker;
  await rig.sync({ streams: ['issues'] });
  clock.advance(day);
  const projects = [...new Set([...rig.tracker.oracle().issues.values()].map((one) => one.projectKey))];
  for (const one of rig.tracker.oracle().issues.values())
    if (one.projectKey === projects[0])
      state.update(one.id, { summary: 'changed outside of the other filter' });
  clock.advance(3 * day);
  for (const one of rig.tracker.oracle().issues.values())
    if (one.projectKey === projects[1]) state.update(one.id, { summary: 'changed within it, just now' });
  await interruptAt(22, { streams: ['issues'] }, { jql: `project in (${projects.slice(1).join(', ')})` });
  expect(
    await rig.rows(
      "select from ops.slices join ops.walks w using (walk_id) where w.status = 'open' and slices.status = 'done'",
    ),
  ).not.toHaveLength(0);
  await rig.sync({ streams: ['issues'] });
  clock.advance(day);
  await rig.sync({ streams: ['issues'] });
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('a full sync begun long ago is begun anew: what was edited since without a trace is read', async () => {
  rig = await openRig({ dialect: 'contract', issues: 2_400, history: 0 });
  await interruptAt(20, { streams: ['issues'], full: true });
  const [done] = await rig.rows<{ id: string }>(`select id::text from tracker.issues i where exists (
    select from ops.slices where status = 'done' and i.created_at >= window_from and (window_to is null or i.created_at < window_to))`);
  expect(done).toBeDefined();
  await rig.rows("update tracker.issues set summary = 'not as it is', _row_hash = null where id = $1", [
    done?.id,
  ]);
  const again = () => rig.sync({ streams: ['issues'], full: true });
  rig.tracker.clock.advance(20 * day);
  expect(await again()).toMatchObject({ status: 'succeeded' });
  expect(await summaryOf(done?.id ?? '')).not.toBe('not as it is');
});
