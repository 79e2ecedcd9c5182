import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { transformOf } from '../../../../../src/connectors/jira/columns.ts';
import * as tables from '../../../../../src/connectors/jira/tables.ts';
import { BadData } from '../../../../../src/core/errors.ts';
import { parseInstant } from '../../../../../src/core/time.ts';
import { ann } from './issue-record.ts';

const project = transformOf(tables.projects);
const field = transformOf(tables.fields);
const user = transformOf(tables.users);
const group = transformOf(tables.groups);
const board = transformOf(tables.boards);
const sprint = transformOf(tables.sprints);
const status = transformOf(tables.statuses);
const extraOf = ({ row }: { readonly row: Readonly<Record<string, unknown>> }): unknown =>
  JSON.parse(String(row._extra));

describe('projects', () => {
  const record = {
    id: '10003',
    key: 'PROJ',
    name: 'Project',
    projectTypeKey: 'software',
    style: 'next-gen',
    simplified: true,
    projectCategory: { id: '1', name: 'Platform', self: 'https://e' },
    lead: ann,
    avatarUrls: {},
    isPrivate: false,
  };

  it('become rows, and members without a column are kept', () => {
    expect(project(record, {})).toEqual({
      row: {
        id: 10003,
        key: 'PROJ',
        name: 'Project',
        description: null,
        type: 'software',
        style: 'next-gen',
        category: 'Platform',
        lead_user_id: ann.accountId,
        archived: false,
        url: null,
        _extra: '{"projectCategory.id":"1","isPrivate":false}',
      },
      children: {},
    });
  });

  it('without a name are rejected by name', () => {
    expect(() => project({ ...record, name: undefined }, {})).toThrow(
      'tracker.projects: project PROJ has no name',
    );
  });

  it('keep a lead of an unknown shape with a note', () => {
    const reason = 'expected a user with an id, got text';
    const mapped = project({ ...record, lead: 'ann', isPrivate: undefined }, {});
    expect(mapped.row.lead_user_id).toBeNull();
    expect(extraOf(mapped)).toMatchObject({ lead: { _raw: 'ann', _reason: reason } });
    expect(mapped.notes).toEqual([`lead: ${reason}`]);
  });
});

describe('fields', () => {
  it.each([
    [{ custom: true }, true],
    [{ custom: false }, false],
    [{ custom: false, schema: { type: 'string', custom: 'a:b' } }, false],
    [{ schema: { type: 'number', custom: 'a:b', customId: 1 } }, true],
    [{ schema: { type: 'string', system: 'team' } }, false],
    [{ schema: { type: 'string' } }, true],
    [{}, true],
    [{ id: 'customfield_1' }, true],
    [{ id: 'summary' }, false],
  ])('%j is custom: %s', (record, custom) => {
    expect(field({ id: 'team', name: 'Team', ...record }, {}).row.custom).toBe(custom);
  });

  it('keep the types of values and elements and their set-up, and nothing of how often they are used', () => {
    const schema = {
      type: 'array',
      items: 'json',
      custom: 'com.pyxis.greenhopper.jira:gh-sprint',
      customId: 10020,
      configuration: { multiple: true },
    };
    const mapped = field(
      { id: 'customfield_10020', name: 'Sprint', schema, isLocked: true, screensCount: 3 },
      {},
    );
    expect(mapped.row).toMatchObject({
      schema_type: 'array',
      items_type: 'json',
      schema_custom: 'com.pyxis.greenhopper.jira:gh-sprint',
    });
    expect(extraOf(mapped)).toEqual({ 'schema.configuration': { multiple: true }, isLocked: true });
  });
});

describe('people', () => {
  it('are identified by account id, or by key or name where a server has no account ids', () => {
    expect(user(ann, {}).row).toEqual({
      id: ann.accountId,
      display_name: 'Ann',
      email: null,
      active: true,
      time_zone: 'Asia/Shanghai',
      locale: null,
      account_type: 'atlassian',
      _extra: null,
    });
    expect(user({ key: 'JIRAUSER1', name: 'ann' }, {}).row).toMatchObject({
      id: 'JIRAUSER1',
      _extra: '{"key":"JIRAUSER1","name":"ann"}',
    });
    expect(user({ name: 'ann' }, {}).row.id).toBe('ann');
    expect(() => user({ displayName: 'Ann' }, {})).toThrow('has no accountId');
    expect(() => user({ accountId: 'x'.repeat(2601) }, {})).toThrow('at most 2600 fit');
  });

  it('are in groups, which are identified by id or by name', () => {
    expect(group({ groupId: 'g-1', name: 'devs' }, {}).row).toEqual({
      id: 'g-1',
      name: 'devs',
      _extra: null,
    });
    expect(group({ name: 'devs' }, {}).row.id).toBe('devs');
    const member = transformOf(tables.groupMembers)(ann, { partition: { group_id: 'g-1' } });
    expect(member.row).toEqual({ group_id: 'g-1', user_id: ann.accountId });
  });
});

describe('boards and sprints', () => {
  it.each([
    [{ projectId: 10003, projectKey: 'PROJ' }, 10003, null],
    [
      { projectId: 10003, projectName: 'Project', userAccountId: 'a' },
      10003,
      '{"location.userAccountId":"a"}',
    ],
    [{ userAccountId: 'a', displayName: 'Ann' }, null, '{"location.userAccountId":"a"}'],
    [null, null, null],
  ])('a board at %j is in the project %j and keeps its user', (location, project_id, _extra) => {
    expect(board({ id: 2, name: 'Board', type: 'scrum', location, canEdit: true }, {}).row).toEqual({
      id: 2,
      name: 'Board',
      type: 'scrum',
      project_id,
      _extra,
    });
  });

  it('a future sprint has no dates, is shown by the board that lists it and belongs to its original board', () => {
    const slice = { partition: { board_id: '2' } };
    expect(sprint({ id: 7, name: 'Sprint 7', state: 'FUTURE', originBoardId: 1 }, slice).row).toEqual({
      id: 7,
      name: 'Sprint 7',
      state: 'future',
      board_id: 1,
      goal: null,
      created_at: null,
      start_at: null,
      end_at: null,
      completed_at: null,
      _extra: null,
    });
    expect(sprint({ id: 7, name: 'S', state: 'active' }, slice).row.board_id).toBeNull();
    expect(transformOf(tables.boardSprints)({ id: 7 }, slice).row).toEqual({ board_id: 2, sprint_id: 7 });
  });

  it('the dates of a sprint are exact, in both forms that the vendor writes', () => {
    const record = { id: 7, name: 'S', state: 'closed', startDate: '2020-06-26T00:38:00.000Z' };
    const { row } = sprint({ ...record, endDate: '2020-07-10T10:00:00.000+10:00' }, {});
    expect(row.start_at).toBe(parseInstant('2020-06-26T00:38:00Z'));
    expect(row.end_at).toBe(parseInstant('2020-07-10T00:00:00Z'));
    expect(() => sprint({ ...record, startDate: 'soon' }, {})).toThrow(
      'tracker.sprints: sprint 7 has a bad startDate',
    );
  });

  it('an issue is in the sprint that lists it', () => {
    const map = transformOf(tables.sprintIssues);
    const record = { id: '10063', key: 'PROJ-7', fields: {} };
    expect(map(record, { partition: { sprint_id: '7' } }).row).toEqual({ sprint_id: 7, issue_id: 10063 });
    expect(() => map(record, {})).toThrow(TypeError);
  });
});

describe('statuses, types and priorities', () => {
  it.each([
    [{ key: 'new' }, 'todo'],
    [{ key: 'indeterminate' }, 'in_progress'],
    [{ key: 'done' }, 'done'],
    [{ key: 'undefined' }, 'unknown'],
    [undefined, 'unknown'],
    ['NEW_ONE', 'unknown', 'text'],
    [[{ key: 'done' }], 'unknown', 'a list'],
    [{ key: 'constructor' }, 'unknown', 'an object'],
    [{ name: 'Done' }, 'unknown', 'an object'],
  ])('the category %j is %s; an unexpected one is kept and noted', (statusCategory, category, kind = '') => {
    const mapped = status({ id: '3', name: 'S', statusCategory }, {});
    expect(mapped.row.category).toBe(category);
    const reason = `expected a category that is known, got ${kind}`;
    const extra = kind === '' ? null : { statusCategory: { _raw: statusCategory, _reason: reason } };
    expect(extraOf(mapped)).toEqual(extra);
    expect(mapped.notes).toEqual(kind === '' ? undefined : [`statusCategory: ${reason}`]);
  });

  it('belong to one project or to all', () => {
    const scope = { type: 'PROJECT', project: { id: '10003' } };
    expect(status({ id: '3', name: 'S', scope }, {}).row.project_id).toBe(10003);
    expect(status({ id: '3', name: 'S', scope: { type: 'GLOBAL' } }, {}).row.project_id).toBeNull();
    const type = { id: '1', name: 'Epic', subtask: false, hierarchyLevel: 1, scope };
    expect(transformOf(tables.issueTypes)(type, {}).row).toMatchObject({
      hierarchy_level: 1,
      subtask: false,
      project_id: 10003,
    });
    expect(transformOf(tables.priorities)({ id: '1', name: 'High', rank: 2 }, {}).row).toMatchObject({
      rank: 2,
    });
  });
});

const { projects, fields, users, groups, groupMembers, boards, sprints } = tables;
const { boardSprints, sprintIssues, statuses, issueTypes, priorities } = tables;
const people = [users, groups, groupMembers];
const agile = [boards, sprints, boardSprints, sprintIssues];
const listed = [projects, fields, ...people, ...agile, statuses, issueTypes, priorities];
it.each(listed.map((table) => [table.name, table] as const))(
  'a record of %s gives exactly the columns of its table, or BadData that names a field',
  (_, table) => {
    const slice = { partition: { board_id: '1', sprint_id: '2', group_id: '3' } };
    const columns = Object.keys(table.columns).sort();
    const columnsOf = (record: unknown) => Object.keys(transformOf(table)(record, slice).row).sort();
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom<unknown>('1', '2', 'name', 'a\0', '\ud800', 2 ** 60, { id: '1', name: 'x' }),
    );
    const keys = 'id key name accountId groupId state schema scope lead more __proto__'.split(' ');
    const some = fc.record(Object.fromEntries(keys.map((key) => [key, value])), { requiredKeys: [] });
    fc.assert(
      fc.property(fc.oneof(some, fc.jsonValue()), (record) => {
        try {
          expect(columnsOf(record)).toEqual(columns);
        } catch (error) {
          if (!(error instanceof BadData)) throw error;
          expect(error.field).toEqual(expect.any(String));
        }
      }),
      { numRuns: 200 },
    );
    expect(columnsOf({ id: '1', key: 'K', name: 'N', accountId: 'A', state: 'active' })).toEqual(columns);
  },
);
