/** `why`: the slice that wrote a row, over runs that read in parallel, are stopped and resumed, and read the same again. */

import { describe, expect, test } from 'vitest';
import { Interrupted } from '../../src/core/errors.ts';
import { type Lineage, lineage, syncedTable } from '../../src/queries/lineage.ts';
import { openAdsRig } from '../support/ads-rig.ts';
import { openRig, type Rig } from '../support/rig.ts';
import type { SourceRig } from '../support/source-rig.ts';

const issues = { streams: ['issues'] };
const search = { endpoint: '/rest/api/3/search/jql', method: 'POST' } as const;
const minute = 60_000;

/** The lineage of one row. */
const whyOf = async (
  { database: { warehouse } }: Pick<SourceRig, 'database'>,
  name: string,
  key: string,
): Promise<Lineage> => {
  const table = await syncedTable(warehouse.db, name);
  if (table === undefined) throw new Error(`there is no table ${name}`);
  const [found] = await lineage(warehouse.db, table, key);
  if (found === undefined) throw new Error(`${name} has no row ${key}`);
  return found;
};

/** A tracker whose first sync reads a dozen windows of creation. */
const large = (): Promise<Rig> =>
  openRig({ dialect: 'contract', issues: 2_400, projects: 8, years: 3, history: 0 });

/** Every nth issue, with the run that wrote it and the window by creation of the slice that did. */
async function written(rig: Rig, nth: number) {
  const rows = await rig.rows<{ id: string; created: Date; run: string }>(
    'select id::text, created_at as created, _run_id::text as run from tracker.issues order by id',
  );
  const sample = rows.filter((_, at) => at % nth === 0);
  return Promise.all(sample.map(async (row) => ({ ...row, ...(await whyOf(rig, 'issues', row.id)) })));
}

const holds = ({ created, slice }: { readonly created: Date } & Pick<Lineage, 'slice'>): boolean =>
  slice?.field === 'created' &&
  (slice.from === null || created >= slice.from) &&
  (slice.to === null || created < slice.to);

/** A sync that is stopped at the nth page of whole issues. */
async function stopAt(rig: Rig, nth: number, full = false): Promise<void> {
  const stop = new AbortController();
  const match = ({ body }: { readonly body?: unknown }) => /summary/.test(JSON.stringify(body));
  const rule = rig.tracker.script.at({ ...search, nth, match }, () => stop.abort(new Interrupted('stopped')));
  const cut = rig.sync({ ...issues, full }, { signal: stop.signal, deps: { concurrency: 1 } });
  await expect(cut).rejects.toThrow(Interrupted);
  expect(rule.fired).toBe(1);
}

describe('why names the slice that wrote an issue', () => {
  test('of several that were read in parallel', async () => {
    const rig = await large();
    try {
      await rig.sync(issues);
      const all = await written(rig, 40);
      expect(new Set(all.map(({ slice }) => slice?.from?.getTime())).size).toBeGreaterThan(2);
      for (const one of all)
        expect([one.created, one.slice, holds(one)]).toEqual([one.created, one.slice, true]);
      for (const { slice } of all) expect(slice).toMatchObject({ stream: 'issues', walk: 'full' });
      for (const { slice } of all) expect(slice?.read).toBeGreaterThan(0);
    } finally {
      await rig.close();
    }
  });

  test('also where the run that wrote it was stopped, and the next one read the slice to its end', async () => {
    const rig = await large();
    try {
      await stopAt(rig, 12);
      const [{ half } = { half: 0 }] = await rig.rows<{
        half: number;
      }>(`select count(*)::int as half from ops.slices s
        where status <> 'done' and exists (select from ops.batches b where b.slice_id = s.slice_id)`);
      expect(half, 'slices with rows that were not read to their end').toBeGreaterThan(0);
      await rig.sync(issues);
      const all = await written(rig, 30);
      expect(new Set(all.map(({ run }) => run?.runId)).size).toBe(2);
      for (const one of all)
        expect([one.created, one.slice, holds(one)]).toEqual([one.created, one.slice, true]);
    } finally {
      await rig.close();
    }
  });

  test('and not the one that read it again and found it as it was', async () => {
    const rig = await large();
    try {
      await rig.sync(issues);
      const first = await whyOf(rig, 'issues', '10001');
      const second = await whyOf(rig, 'issues', '10002');
      rig.tracker.clock.advance(minute);
      rig.tracker.state.update('10002', { summary: 'changed' });
      await rig.sync(issues);
      await rig.sync({ ...issues, full: true });
      expect((await whyOf(rig, 'issues', '10001')).slice).toEqual(first.slice);
      const changed = await whyOf(rig, 'issues', '10002');
      expect(changed.slice).toMatchObject({ walk: 'incremental', field: 'updated' });
      expect(Number(changed.run?.runId)).toBe(Number(second.run?.runId) + 1);
    } finally {
      await rig.close();
    }
  });
});

test('why names the owner whose list wrote a row, the record that a part came with, and no slice for a row made of others', async () => {
  const rig = await openRig({ dialect: 'vendor', issues: 60, projects: 4, history: 0 });
  try {
    const comment = rig.tracker.state.addComment('10001', 'A word').id;
    await rig.sync();
    const [{ board, sprint } = { board: '', sprint: '' }] = await rig.rows<{ board: string; sprint: string }>(
      'select board_id::text as board, sprint_id::text as sprint from tracker.board_sprints order by 1 desc limit 1',
    );
    const listed = await whyOf(rig, 'board_sprints', `${board}/${sprint}`);
    expect(listed.slice).toMatchObject({ stream: 'board_sprints', partition: { board_id: board } });
    const part = await whyOf(rig, 'comments', comment);
    expect([part.slice?.stream, part.source?.stream]).toEqual(['issues', 'issues']);
    // The row of an author whom no list shows is made of the rows that name them.
    rig.tracker.clock.advance(minute);
    const authors = 'select author_id as id from tracker.comments where id = $1';
    const [author] = await rig.rows<{ id: string }>(authors, [comment]);
    await rig.rows('delete from tracker.users where id = $1', [author?.id]);
    await rig.sync({ ...issues, full: true });
    expect((await whyOf(rig, 'users', author?.id ?? '')).slice).toBeNull();
  } finally {
    await rig.close();
  }
});

test('a row that a reconcile marked as gone names no slice: its ids were compared, nothing was read', async () => {
  const rig = await openRig({ dialect: 'contract', issues: 60, history: 0 });
  try {
    await rig.sync(issues);
    rig.tracker.state.delete('10003');
    await rig.reconcile(issues);
    expect(await whyOf(rig, 'issues', '10003')).toMatchObject({
      slice: null,
      run: { kind: 'reconcile' },
      source: { stream: 'issues' },
      deletedAt: expect.any(String),
    });
  } finally {
    await rig.close();
  }
});

test('a row of daily facts names the slice of its days and owner, whichever night wrote it', async () => {
  const rig = await openAdsRig({ dialect: 'vendor', campaigns: 1, adSetsPerCampaign: 1, adsPerAdSet: 1 });
  try {
    await rig.sync({ streams: ['businesses', 'ad_accounts', 'campaigns', 'ad_sets', 'ads', 'report_daily'] });
    const rows = await rig.rows<{ type: string; id: string; day: string }>(
      'select entity_type as type, entity_id as id, day::text from ads.report_daily order by day, entity_type, entity_id',
    );
    expect(rows.length).toBeGreaterThan(20);
    for (const { type, id, day } of rows.filter((_, at) => at % Math.ceil(rows.length / 20) === 0)) {
      const keys = await rig.rows<{
        column: string;
      }>(`select a.attname as column from pg_index i join pg_attribute a
        on a.attrelid = i.indrelid and a.attnum = any (i.indkey) where i.indrelid = 'ads.report_daily'::regclass and i.indisprimary
        order by array_position(i.indkey::int2[], a.attnum)`);
      const parts: Record<string, string> = { entity_type: type, entity_id: id, day };
      const key = keys
        .flatMap(({ column }) => (column === 'source_id' ? [] : [parts[column] ?? '']))
        .join('/');
      const { slice } = await whyOf(rig, 'report_daily', key);
      expect(slice).toMatchObject({ stream: 'report_daily', field: 'day' });
      const at = new Date(`${day}T00:00:00Z`).getTime();
      expect(slice?.from?.getTime()).toBeLessThanOrEqual(at);
      expect(slice?.to?.getTime()).toBeGreaterThan(at);
    }
  } finally {
    await rig.close();
  }
});
