import { expect, test } from 'vitest';
import { staleFacts } from '../../support/facts.ts';
import { changeColumns, loadVocabulary, reading } from './reading.ts';

/** Story points of an issue are the first filled of the fields that hold them: in history, at each moment. */

const own = 'customfield_10026';
const estimate = 'customfield_10016';

let history = 0;
/** A change of a field's number; null: empty. */
const change = (issue: number, at: string, field: string, from: string | null, to: string | null): string => {
  history += 1;
  const [before, after] = [from, to].map((text) => (text === null ? 'null' : `'${text}'`));
  return `1, ${history}, 0, ${issue}, '${at}', 'ann', '${field}', '${field}', null, ${before}, null, ${after}`;
};

interface Issue {
  /** What the fields hold now. */
  readonly now: Readonly<Record<string, number>>;
  readonly points: number | null;
  readonly changes: readonly (readonly [at: string, field: string, from: string | null, to: string | null])[];
  /** Intervals: the number, since, until. */
  readonly expected: readonly string[];
}

const issues: Readonly<Record<string, Issue>> = {
  'fields that change in turns': {
    now: { [own]: 3, [estimate]: 8 },
    points: 3,
    changes: [
      ['2024-01-02Z', estimate, null, '5'],
      ['2024-01-03Z', own, null, '2'],
      ['2024-01-04Z', estimate, '5', '8'],
      ['2024-01-05Z', own, '2', '3'],
    ],
    expected: [
      '- | 2024-01-01 | 2024-01-02',
      '5 | 2024-01-02 | 2024-01-03',
      '2 | 2024-01-03 | 2024-01-05',
      '3 | 2024-01-05 | -',
    ],
  },
  'a first field that is cleared leaves the second': {
    now: { [estimate]: 8 },
    points: 8,
    changes: [
      ['2024-01-02Z', own, null, '3'],
      ['2024-01-03Z', estimate, null, '8'],
      ['2024-01-04Z', own, '3', null],
    ],
    expected: ['- | 2024-01-01 | 2024-01-02', '3 | 2024-01-02 | 2024-01-04', '8 | 2024-01-04 | -'],
  },
  'a second field that never changed counts until the first is filled': {
    now: { [own]: 0, [estimate]: 13 },
    points: 0,
    changes: [['2024-01-03Z', own, null, '0']],
    expected: ['13 | 2024-01-01 | 2024-01-03', '0 | 2024-01-03 | -'],
  },
  'a number that moves from field to field in one instant is no change': {
    now: { [estimate]: 5 },
    points: 5,
    changes: [
      ['2024-01-02Z', own, null, '5'],
      ['2024-01-03Z', own, '5', null],
      ['2024-01-03Z', estimate, null, '5'],
    ],
    expected: ['- | 2024-01-01 | 2024-01-02', '5 | 2024-01-02 | -'],
  },
  'what is no number fills nothing': {
    now: { [estimate]: 5 },
    points: 5,
    changes: [
      ['2024-01-02Z', estimate, null, '5'],
      ['2024-01-03Z', own, null, 'many'],
      ['2024-01-04Z', own, 'many', null],
    ],
    expected: ['- | 2024-01-01 | 2024-01-02', '5 | 2024-01-02 | -'],
  },
  'one field alone': {
    now: { [own]: 3 },
    points: 3,
    changes: [['2024-01-02Z', own, null, '3']],
    expected: ['- | 2024-01-01 | 2024-01-02', '3 | 2024-01-02 | -'],
  },
  'changes of a field that never counted': {
    now: { [own]: 3, [estimate]: 8 },
    points: 3,
    changes: [['2024-01-02Z', estimate, '5', '8']],
    expected: ['3 | -infinity | -'],
  },
};

const { insert, read } = reading(async () => {
  await loadVocabulary(insert);
  await insert('tracker.fields (source_id, id, name, custom, schema_type, role, role_place)', [
    `1, '${own}', 'Story Points', true, 'number', 'story_points', 0`,
    `1, '${estimate}', 'Story point estimate', true, 'number', 'story_points', 1`,
  ]);
  for (const [at, { now, points, changes }] of Object.values(issues).entries()) {
    const id = at + 1;
    await insert(
      'tracker.issues (source_id, id, key, project_id, issue_type_id, status_id, story_points, custom_fields, created_at, updated_at)',
      [`1, ${id}, 'P-${id}', 10, 1, 1, ${points}, '${JSON.stringify(now)}', '2024-01-01Z', '2024-03-01Z'`],
    );
    await insert(
      changeColumns,
      changes.map((one) => change(id, ...one)),
    );
  }
});

const estimates = (id: number) =>
  read(`select trim_scale(points)::text, valid_from::text, case when valid_to <> 'infinity' then valid_to::text end
    from tracker.estimates(1::smallint, '{${id}}') order by valid_from`);

test.each(Object.keys(issues))('%s', async (name) => {
  const id = Object.keys(issues).indexOf(name) + 1;
  expect(await estimates(id)).toEqual(issues[name]?.expected);
});

test('an order of the fields that changes is an order of their history', async () => {
  await read(`update tracker.fields set role_place = 1 - role_place where role = 'story_points'`);
  expect(await estimates(1)).toEqual([
    '- | 2024-01-01 | 2024-01-02',
    '5 | 2024-01-02 | 2024-01-04',
    '8 | 2024-01-04 | 2024-03-01',
    // The issue was not read again since.
    '3 | 2024-03-01 | -',
  ]);
  expect(await staleFacts((query) => read(query).then((lines) => lines.map((line) => ({ line }))))).toEqual(
    [],
  );
});
