import { expect, test } from 'vitest';
import { withKeys } from '../../../../src/connectors/dagu/known-runs.ts';
import type { KeySet, SliceContext } from '../../../../src/core/stream.ts';

test('the newest runs of a page of DAGs are told by their keys with one question to the warehouse', async () => {
  const asked: KeySet[] = [];
  const begun = '2026-03-01T12:00:00.000Z';
  const rows = [
    { id: 'r1@then', told: 'r1', begun, dag: 'load' },
    { id: 'r1', told: 'r1', begun, dag: 'send' },
  ];
  const given = { keys: async (set: KeySet) => asked.push(set) && rows } as unknown as SliceContext;
  const latest = { status: 'succeeded', dagRunId: 'r1', begun };
  const dags = ['load', 'send', 'other'].map((name) => ({ name, latest }));
  const keyed = await withKeys(given, [...dags, { name: 'never' }, { name: 'bad \0', latest }]);
  expect(keyed).toEqual([
    { name: 'load', latest: { ...latest, dagRunId: 'r1@then' } },
    { name: 'send', latest },
    { name: 'other', latest },
    { name: 'never' },
    { name: 'bad \0', latest },
  ]);
  expect(asked).toMatchObject([
    { among: { dag_name: ['load', 'send', 'other'], told_run_id: ['r1', 'r1', 'r1'] } },
  ]);
});
