import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { tongues } from '../support/small-site.ts';

describe.each(tongues)('what hangs on an issue, from a tracker that speaks $tongue', ({ options, bare }) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig({ ...options, embedded: { changelog: 5, comments: 3, worklogs: 2 } });
    await rig.sync();
  });
  afterAll(() => rig.close());
  beforeEach(() => rig.tracker.clock.advance(60_000));

  const liveComments = (id: string) =>
    rig.rows<{ id: string; deleted: boolean }>(
      'select id, _deleted_at is not null as deleted from tracker.comments where issue_id = $1 order by id',
      [id],
    );
  const issueWith = (fits: (issue: ReturnType<Rig['tracker']['state']['issue']>) => boolean): string => {
    const found = [...rig.tracker.oracle().issues.values()].find((one) => !one.deleted && fits(one));
    if (found === undefined) throw new Error('the company has no such issue');
    return found.id;
  };
  const tailsSince = (from: number): readonly string[] =>
    rig.tracker.log
      .slice(from)
      .flatMap(({ path }) => (/\/issue\/\d+\/(changelog|comment|worklog)$/.test(path) ? [path] : []));

  test('an issue that lost its last label, component and version has none', async () => {
    const { state } = rig.tracker;
    const id = issueWith(
      (one) => one.labels.length > 0 && one.componentIds.length > 0 && one.fixVersionIds.length > 0,
    );
    for (const label of state.issue(id).labels) state.removeLabel(id, label);
    state.update(id, { componentIds: [], fixVersionIds: [] });
    expect((await rig.sync()).deleted).toBeGreaterThanOrEqual(3);
    for (const table of ['issue_labels', 'issue_components', 'issue_versions'])
      expect(await rig.rows(`select 1 from tracker.${table} where issue_id = $1`, [id])).toEqual([]);
  });

  test('a deleted comment becomes a tombstone, an edited one changes, the others stay', async () => {
    const { state } = rig.tracker;
    const id = issueWith((one) => one.comments.length === 2);
    const [first, second] = state.issue(id).comments;
    if (first === undefined || second === undefined) throw new Error('two comments were asked for');
    state.deleteComment(id, first.id);
    state.editComment(id, second.id, 'Said otherwise');
    await rig.sync();
    expect(await liveComments(id)).toEqual([
      expect.objectContaining({ deleted: true }),
      expect.objectContaining({ deleted: false }),
    ]);
    expect(await rig.rows('select body from tracker.comments where id = $1', [second.id])).toEqual([
      { body: 'Said otherwise' },
    ]);
    state.deleteComment(id, second.id);
    await rig.sync();
    expect((await liveComments(id)).every((one) => one.deleted)).toBe(true);
  });

  test('a worklog that is edited or deleted is so here', async () => {
    const { state } = rig.tracker;
    const id = issueWith((one) => one.worklogs.length === 0);
    const one = state.addWorklog(id, 60);
    const two = state.addWorklog(id, 120);
    await rig.sync();
    state.editWorklog(id, one.id, 90);
    state.deleteWorklog(id, two.id);
    await rig.sync();
    expect(
      await rig.rows(
        'select time_spent_seconds::int as s, _deleted_at is null as live from tracker.worklogs where issue_id = $1 order by id',
        [id],
      ),
    ).toEqual([
      { s: 90, live: true },
      { s: 120, live: false },
    ]);
  });

  test.skipIf(bare)(
    'the rest of a list is fetched for changed issues only, and only where it was cut off',
    async () => {
      const { state, log } = rig.tracker;
      await rig.sync();
      const quiet = log.length;
      await rig.sync();
      expect(tailsSince(quiet)).toEqual([]);
      const [long = '', short = ''] = [
        issueWith((one) => one.history.length > 5),
        issueWith((one) => one.history.length < 5 && one.comments.length < 2 && one.worklogs.length < 2),
      ];
      for (let i = 0; i < 4; i += 1) {
        state.addComment(long, `Comment ${i}`);
        state.addWorklog(long, 60);
      }
      state.addComment(long, 'One more');
      state.addComment(short, 'One more');
      const from = log.length;
      await rig.sync();
      const tails = tailsSince(from);
      expect(new Set(tails)).toEqual(
        new Set(['changelog', 'comment', 'worklog'].map((list) => `/rest/api/3/issue/${long}/${list}`)),
      );
    },
  );

  test('all of it equals the source', async () => {
    await rig.sync();
    // Without the endpoints for the rest of a list only whole lists are known.
    const found = await differences(rig, { bare });
    expect(bare ? found.filter((line) => !/^(comments|worklogs) /.test(line)) : found).toEqual([]);
  });
});
