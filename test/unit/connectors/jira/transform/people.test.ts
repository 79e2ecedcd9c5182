import { expect, it } from 'vitest';
import { authorsIn, peopleIn } from '../../../../../src/connectors/jira/transform/people.ts';

const named = (rows: readonly Readonly<Record<string, unknown>>[]) =>
  rows.map(({ id, display_name, active, account_type }) => [id, display_name, active, account_type]);

// The shapes are those of the vendor's OpenAPI (UserDetails) and of its server's documents (key, name).
it.each<readonly [what: string, value: unknown, row: readonly unknown[] | undefined]>([
  [
    'a person',
    { accountId: 'a', displayName: 'Ann', active: true, accountType: 'atlassian' },
    ['a', 'Ann', true, 'atlassian'],
  ],
  [
    'a deleted one',
    { accountId: 'unknown', displayName: 'Former user', active: false },
    ['unknown', 'Former user', false, null],
  ],
  ['an app', { accountId: 'b', displayName: 'Bot', accountType: 'app' }, ['b', 'Bot', null, 'app']],
  [
    'one of a server',
    { key: 'JIRAUSER1', name: 'ann', displayName: 'Ann', active: true },
    ['JIRAUSER1', 'Ann', true, null],
  ],
  ['one in a list', [{ accountId: 'a', displayName: 'Ann' }], ['a', 'Ann', null, null]],
  [
    'the place of a board',
    { projectId: 1, key: 'WEB', name: 'Web (WEB)', displayName: 'Web (WEB)' },
    undefined,
  ],
  ['nobody with an id', { displayName: 'Anonymous', active: true }, undefined],
  ['nobody with a name', { accountId: 'a' }, undefined],
  ['a status', { id: '1', name: 'Done' }, undefined],
  ['an id that is none', { accountId: 'x'.repeat(300), displayName: 'X' }, undefined],
  ['text', 'ann', undefined],
])('finds %s', (_, value, row) => {
  const expected = row === undefined ? [] : [row];
  expect(named(peopleIn({ summary: 's', lead: value, nothing: null }))).toEqual(expected);
  if (Array.isArray(value)) return;
  expect(named(authorsIn([{ id: 1, author: value }, null, 'odd']))).toEqual(expected);
  expect(named(authorsIn([{ author: null, updateAuthor: value }]))).toEqual(expected);
});

it('finds nobody where there is no record', () => {
  expect(peopleIn(null)).toEqual([]);
  expect(peopleIn([{ accountId: 'a', displayName: 'Ann' }])).toEqual([]);
});
