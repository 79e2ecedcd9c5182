import { expect, test } from 'vitest';
import { differences } from '../support/oracle.ts';
import { type Rig, testRig } from '../support/rig.ts';
import { dialects } from '../support/small-site.ts';

test.each(dialects)('what hangs on an issue changes and goes with it ($name)', async (dialect) => {
  const { options, bare } = dialect;
  const server = dialect.name === 'Data Center';
  const rig = await testRig({ ...options, embedded: { changelog: 5, comments: 3, worklogs: 2 } });
  await rig.sync();
  const { state, clock, log } = rig.tracker;
  const issueWith = (fits: (issue: ReturnType<Rig['tracker']['state']['issue']>) => boolean): string => {
    const found = [...rig.tracker.oracle().issues.values()].find((one) => !one.deleted && fits(one));
    if (found === undefined) throw new Error('the company has no such issue');
    return found.id;
  };
  const sync = async () => {
    clock.advance(60_000);
    return rig.sync();
  };

  const filled = issueWith(
    (one) => one.labels.length > 0 && one.componentIds.length > 0 && one.fixVersionIds.length > 0,
  );
  for (const label of state.issue(filled).labels) state.removeLabel(filled, label);
  state.update(filled, { componentIds: [], fixVersionIds: [] });
  const commented = issueWith((one) => one.comments.length === 2);
  const [first = { id: '' }, second = { id: '' }] = state.issue(commented).comments;
  state.deleteComment(commented, first.id);
  state.editComment(commented, second.id, 'Edited');
  const worked = issueWith((one) => one.worklogs.length === 0);
  const edited = state.addWorklog(worked, 60);
  const removed = state.addWorklog(worked, 120);
  expect((await sync()).deleted).toBeGreaterThanOrEqual(3);
  for (const table of ['issue_labels', 'issue_components', 'issue_versions'])
    expect(await rig.rows(`select 1 from tracker.${table} where issue_id = $1`, [filled])).toEqual([]);
  const comments = () =>
    rig.rows(
      'select body, _deleted_at is null as live from tracker.comments where issue_id = $1 order by id',
      [commented],
    );
  expect(await comments()).toMatchObject([{ live: false }, { live: true, body: 'Edited' }]);

  state.deleteComment(commented, second.id);
  state.editWorklog(worked, edited.id, 90);
  state.deleteWorklog(worked, removed.id);
  await sync();
  expect(await comments()).toMatchObject([{ live: false }, { live: false }]);
  const worklogs = `select time_spent_seconds::int as seconds, _deleted_at is null as live
    from tracker.worklogs where issue_id = $1 order by id`;
  expect(await rig.rows(worklogs, [worked])).toEqual([
    { seconds: 90, live: true },
    { seconds: 120, live: false },
  ]);

  // The rest of a truncated list is fetched for changed issues alone.
  const listsSince = (from: number) =>
    log
      .slice(from)
      .flatMap(({ path }) => (/\/issue\/\d+\/(changelog|comment|worklog)$/.test(path) ? [path] : []));
  const quiet = log.length;
  await rig.sync();
  if (!bare) expect(listsSince(quiet)).toEqual([]);
  const long = issueWith((one) => one.history.length > 5);
  const short = issueWith(
    (one) => one.history.length < 5 && one.comments.length < 2 && one.worklogs.length < 2,
  );
  for (let n = 0; n < 4; n += 1) state.addWorklog(long, 60);
  for (let n = 0; n < 5; n += 1) state.addComment(long, `Comment ${n}`);
  state.addComment(short, 'One more');
  const from = log.length;
  await sync();
  // The cloud gives histories of many issues at once; Data Center gives histories and comments whole.
  const single = {
    vendor: ['comment', 'worklog'],
    'data-center': ['worklog'],
    contract: ['changelog', 'comment', 'worklog'],
  }[options.dialect];
  if (!bare)
    expect(new Set(listsSince(from))).toEqual(
      new Set(single.map((list) => `/rest/api/${server ? 2 : 3}/issue/${long}/${list}`)),
    );
  // Without the endpoints for the rest of a list, truncated lists are not compared.
  const found = await differences(rig, dialect);
  expect(bare ? found.filter((line) => !/^(comments|worklogs) /.test(line)) : found).toEqual([]);
});
