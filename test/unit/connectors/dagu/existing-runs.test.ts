import { expect, test } from 'vitest';
import { withKeys } from '../../../../src/connectors/dagu/existing-runs.ts';
import type { Dag, Run } from '../../../../src/connectors/dagu/fields.ts';
import type { KeySet, SliceContext } from '../../../../src/core/stream.ts';

test('the newest runs of a page of DAGs get the keys of their rows by one query', async () => {
  const asked: KeySet[] = [];
  const begun_at = '2026-03-01T12:00:00.000Z';
  const rows = [
    { dag_name: 'load', dag_run_id: 'r1@then', told_run_id: 'r1', begun_at },
    { dag_name: 'send', dag_run_id: 'r1', told_run_id: 'r1', begun_at },
  ];
  const given = { keys: async (set: KeySet) => asked.push(set) && rows } as unknown as SliceContext;
  const empty = { known: {}, rest: {} };
  const latestOf = (dag: string): Run => ({
    ...{ dag, id: 'r1', known: { status: 'succeeded', begun_at }, rest: {}, steps: [], partial: true },
  });
  const dagOf = (name: string): Dag => ({ ...empty, name, latest: latestOf(name) });
  const dags = [...['load', 'send', 'other', 'bad \0'].map(dagOf), { ...empty, name: 'never' }];
  const keyed = await withKeys(given, dags);
  expect(keyed.map(({ name, latest }) => [name, latest?.id])).toEqual([
    ['load', 'r1@then'],
    ...[
      ['send', 'r1'],
      ['other', 'r1'],
      ['bad \0', 'r1'],
      ['never', undefined],
    ],
  ]);
  expect(asked).toMatchObject([
    { among: { dag_name: ['load', 'send', 'other'], told_run_id: ['r1', 'r1', 'r1'] } },
  ]);
});
