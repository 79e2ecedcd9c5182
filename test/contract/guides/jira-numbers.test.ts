import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { blocksOf, rowsOf, statementsOf } from '../../support/pages.ts';
import { openRig, type Rig } from '../../support/rig.ts';
import { smallSite } from '../../support/small-site.ts';

const guide = 'docs/guides/jira-numbers.md';
const code = (cell = ''): string => cell.slice(1, -1);

/** What happened to an issue, by the section of the guide that finds it. */
const issues = { deleted: '', hidden: '', rejected: '' };

let rig: Rig;
beforeAll(async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' });
  const { state, clock, oracle } = rig.tracker;
  const web = [...oracle().issues.values()].filter(({ projectKey }) => projectKey === 'WEB');
  const [deleted, hidden, rejected] = web.map(({ id }) => id);
  Object.assign(issues, { deleted, hidden, rejected });
  state.setRaw(issues.hidden, 'security', '{"id": "10100", "name": "Board"}');
  state.setRaw(issues.rejected, 'created', '"2024-02-30T10:00:00.000+0000"');
  await rig.sync();
  clock.advance(60_000);
  state.delete(issues.deleted);
});
afterAll(() => rig.close());

async function countAtJira(jql: string): Promise<number> {
  const { url, email, token } = rig.tracker;
  const response = await fetch(`${url}/rest/api/3/search/approximate-count`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${email}:${token}`)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jql }),
  });
  const { count } = (await response.json()) as { readonly count: number };
  return count;
}

const countInWarehouse = async (condition: string): Promise<number> =>
  (
    await rig.rows<{ count: number }>(`select count(*)::integer as count from bi.issues where ${condition}`)
  )[0]?.count ?? -1;

/** Rows of the nth statement of a section. */
const answer = (section: string, nth = 0) => {
  const blocks = blocksOf(guide, 'sql').filter(({ heading }) => heading.startsWith(section));
  return rig.rows(blocks.flatMap(statementsOf)[nth] ?? `select '${section} has no such statement'::integer`);
};

test('without a reconcile both sides differ by the three issues, and the guide finds each', async () => {
  const keyOf = (id: string): string => rig.tracker.oracle().issues.get(id)?.key ?? '';
  const jira = await countAtJira('project = WEB');
  const warehouse = await countInWarehouse("project_key = 'WEB'");
  // Jira has the hidden and the rejected one, the warehouse the deleted one.
  expect(jira - warehouse).toBe(1);
  expect(await answer('3.')).toEqual([{ project_key: 'WEB', hidden_issues: '1' }]);
  expect(await answer('3.', 1)).toEqual([
    expect.objectContaining({ stream: 'issues', record_key: issues.rejected, field: 'fields.created' }),
  ]);
  expect(await answer('4.')).toEqual([]);
  expect(await rig.reconcile()).toMatchObject({ status: 'succeeded', deleted: 1 });
  expect(await answer('4.')).toHaveLength(1);
  expect(await answer('4.', 1)).toEqual([expect.objectContaining({ issue_key: keyOf(issues.deleted) })]);
  expect((await countAtJira('project = WEB')) - (await countInWarehouse("project_key = 'WEB'"))).toBe(2);
});

test('one issue is found whatever became of it', async () => {
  const [statement = ''] = blocksOf(guide, 'sql')
    .filter(({ heading }) => heading.startsWith('5.'))
    .flatMap(statementsOf);
  const one = (id: string) => {
    const { key = '' } = rig.tracker.oracle().issues.get(id) ?? {};
    return rig.rows(statement.replaceAll('WEB-7', key));
  };
  expect(await one(issues.deleted)).toEqual([
    expect.objectContaining({ is_deleted: true, is_hidden: false }),
  ]);
  expect(await one(issues.hidden)).toEqual([expect.objectContaining({ is_deleted: false, is_hidden: true })]);
  expect(await one(issues.rejected)).toEqual([]);
});

describe('once nothing is hidden or rejected', () => {
  beforeAll(async () => {
    rig.tracker.state.setRaw(issues.hidden, 'security', undefined);
    rig.tracker.state.setRaw(issues.rejected, 'created', undefined);
    rig.tracker.clock.advance(60_000);
    await rig.sync({ streams: ['issues'] });
  });

  test.each(rowsOf(guide, '| JQL | condition on `bi.issues` |'))(
    '%s counts what its condition counts',
    async (jql, condition) => {
      const count = await countInWarehouse(code(condition));
      expect(await countAtJira(code(jql))).toBe(count);
      expect(count).toBeGreaterThan(0);
    },
  );
});
