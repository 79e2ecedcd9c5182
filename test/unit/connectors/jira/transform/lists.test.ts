import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as tables from '../../../../../src/connectors/jira/tables.ts';
import * as transform from '../../../../../src/connectors/jira/transform/entities.ts';
import { BadData } from '../../../../../src/core/errors.ts';
import type { Slice } from '../../../../../src/core/stream.ts';
import type { Table } from '../../../../../src/core/table.ts';
import { parseInstant } from '../../../../../src/core/time.ts';
import { ann } from './issue-record.ts';

const whole: Slice = {};

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

  it('become rows, what has no column is kept', () => {
    expect(transform.project(record, whole)).toEqual({
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
    expect(() => transform.project({ ...record, name: undefined }, whole)).toThrow(
      'tracker.projects: project PROJ has no name',
    );
  });

  it('with a lead of an unknown shape keep it with a note', () => {
    const { row, notes } = transform.project({ ...record, lead: 'ann', isPrivate: undefined }, whole);
    expect(row).toMatchObject({
      lead_user_id: null,
      _extra: expect.stringContaining(
        '"lead":{"_raw":"ann","_reason":"expected a user with an id, got text"}',
      ),
    });
    expect(notes).toEqual(['lead: expected a user with an id, got text']);
  });
});

describe('fields', () => {
  it('know what is custom by what the server says, the type or the id', () => {
    const custom = (record: object) => transform.field({ id: 'x', name: 'X', ...record }, whole).row.custom;
    expect(custom({ custom: true })).toBe(true);
    expect(custom({ custom: false, schema: { type: 'string', custom: 'a:b' } })).toBe(false);
    expect(custom({ schema: { type: 'number', custom: 'a:b', customId: 1 } })).toBe(true);
    expect(custom({ id: 'customfield_1' })).toBe(true);
    expect(custom({ schema: { type: 'string', system: 'summary' } })).toBe(false);
    expect(custom({ id: 'summary' })).toBe(false);
  });

  it('are the site’s own where nothing says that they are the system’s', () => {
    const custom = (record: object) =>
      transform.field({ id: 'team', name: 'Team', ...record }, whole).row.custom;
    expect(custom({})).toBe(true);
    expect(custom({ schema: { type: 'string' } })).toBe(true);
    expect(custom({ schema: { type: 'string', system: 'team' } })).toBe(false);
    expect(custom({ custom: false })).toBe(false);
  });

  it('keep the types of values and elements', () => {
    const schema = {
      type: 'array',
      items: 'json',
      custom: 'com.pyxis.greenhopper.jira:gh-sprint',
      customId: 10020,
    };
    expect(transform.field({ id: 'customfield_10020', name: 'Sprint', schema }, whole).row).toMatchObject({
      schema_type: 'array',
      items_type: 'json',
      schema_custom: 'com.pyxis.greenhopper.jira:gh-sprint',
    });
  });

  it('keep what is set up of a field, and nothing of how often it is used', () => {
    const schema = { type: 'option', custom: 'a:b', customId: 1, configuration: { multiple: true } };
    const { row } = transform.field(
      { id: 'customfield_1', name: 'X', schema, isLocked: true, screensCount: 3 },
      whole,
    );
    expect(JSON.parse(String(row._extra))).toEqual({
      'schema.configuration': { multiple: true },
      isLocked: true,
    });
  });
});

describe('people', () => {
  it('are known by account id, or by key or name where a server has no account ids', () => {
    expect(transform.user(ann, whole).row).toEqual({
      id: ann.accountId,
      display_name: 'Ann',
      email: null,
      active: true,
      time_zone: 'Asia/Shanghai',
      locale: null,
      account_type: 'atlassian',
      _extra: null,
    });
    expect(transform.user({ key: 'JIRAUSER1', name: 'ann' }, whole).row.id).toBe('JIRAUSER1');
    expect(transform.user({ name: 'ann' }, whole).row.id).toBe('ann');
    expect(() => transform.user({ displayName: 'Ann' }, whole)).toThrow('has no accountId');
    expect(() => transform.user({ accountId: 'x'.repeat(2601) }, whole)).toThrow('at most 2600 fit');
  });

  it('keep the names by which a server knows them besides', () => {
    expect(transform.user({ key: 'JIRAUSER1', name: 'ann' }, whole).row._extra).toBe('{"name":"ann"}');
    expect(transform.user({ key: 'ann', name: 'ann' }, whole).row._extra).toBeNull();
    expect(transform.user({ ...ann, key: '', name: null }, whole).row._extra).toBeNull();
  });

  it('are in groups, which are known by id or by name', () => {
    expect(transform.group({ groupId: 'g-1', name: 'devs' }, whole).row).toEqual({
      id: 'g-1',
      name: 'devs',
      _extra: null,
    });
    expect(transform.group({ name: 'devs' }, whole).row.id).toBe('devs');
    const slice = { partition: { group_id: 'g-1' } };
    expect(transform.groupMember(ann, slice).row).toEqual({ group_id: 'g-1', user_id: ann.accountId });
  });
});

describe('boards and sprints', () => {
  it('a board knows its project', () => {
    const location = { projectId: 10003, projectKey: 'PROJ' };
    expect(transform.board({ id: 2, name: 'Board', type: 'scrum', location }, whole).row).toEqual({
      id: 2,
      name: 'Board',
      type: 'scrum',
      project_id: 10003,
      _extra: null,
    });
  });

  it('a board of a person keeps whose it is, as it was told', () => {
    const location = { userId: 10_100, userAccountId: ann.accountId, displayName: 'Ann', name: 'Ann' };
    const { row, notes } = transform.board({ id: 3, name: 'Mine', type: 'kanban', location }, whole);
    expect({ ...row, _extra: JSON.parse(String(row._extra)) }).toEqual({
      id: 3,
      name: 'Mine',
      type: 'kanban',
      project_id: null,
      _extra: { location },
    });
    expect(notes).toBeUndefined();
    expect(transform.board({ id: 4, name: 'Nowhere', location: null }, whole).row).toMatchObject({
      _extra: null,
    });
  });

  it('a board keeps who may see and change it, and whose it is besides its project', () => {
    const location = { projectId: 10003, projectName: 'Project', userAccountId: ann.accountId };
    const admins = { users: [{ accountId: ann.accountId }], groups: [] };
    const record = { id: 5, name: 'Ours', type: 'scrum', location, admins, isPrivate: true, canEdit: true };
    expect(JSON.parse(String(transform.board(record, whole).row._extra))).toEqual({
      'location.userAccountId': ann.accountId,
      admins,
      isPrivate: true,
    });
  });

  it('a future sprint has no dates; a sprint shows on the board that lists it and belongs to the one it came from', () => {
    const slice = { partition: { board_id: '2' } };
    expect(transform.sprint({ id: 7, name: 'Sprint 7', state: 'FUTURE', originBoardId: 1 }, slice)).toEqual({
      row: {
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
      },
      children: {},
    });
    expect(transform.sprint({ id: 7, name: 'S', state: 'active' }, slice).row.board_id).toBeNull();
    expect(transform.boardSprint({ id: 7 }, slice).row).toEqual({ board_id: 2, sprint_id: 7 });
  });

  it('the dates of a sprint are exact, in both of the forms that the vendor writes', () => {
    const { row } = transform.sprint(
      {
        id: 7,
        name: 'S',
        state: 'closed',
        startDate: '2020-06-26T00:38:00.000Z',
        endDate: '2020-07-10T10:00:00.000+10:00',
      },
      whole,
    );
    expect(row.start_at).toBe(parseInstant('2020-06-26T00:38:00Z'));
    expect(row.end_at).toBe(parseInstant('2020-07-10T00:00:00Z'));
    expect(() => transform.sprint({ id: 7, name: 'S', state: 'closed', startDate: 'soon' }, whole)).toThrow(
      'tracker.sprints: sprint 7 has a bad startDate',
    );
  });

  it('an issue is in the sprint that lists it', () => {
    const slice = { partition: { sprint_id: '7' } };
    expect(transform.sprintIssue({ id: '10063', key: 'PROJ-7', fields: {} }, slice).row).toEqual({
      sprint_id: 7,
      issue_id: 10063,
    });
    expect(() => transform.sprintIssue({ id: '10063' }, whole)).toThrow(TypeError);
  });
});

describe('statuses, types and priorities', () => {
  it.each([
    [{ key: 'new' }, 'todo'],
    [{ key: 'indeterminate' }, 'in_progress'],
    [{ key: 'done' }, 'done'],
    [{ key: 'undefined' }, 'unknown'],
    ['TODO', 'todo'],
    ['IN_PROGRESS', 'in_progress'],
    ['DONE', 'done'],
    ['NEW_ONE', 'unknown'],
    [undefined, 'unknown'],
    [{ name: 'Done' }, 'unknown'],
    [{ key: 'constructor' }, 'unknown'],
  ])('the category %j is %s', (statusCategory, category) => {
    expect(transform.status({ id: '3', name: 'S', statusCategory }, whole).row.category).toBe(category);
  });

  it.each([
    ['NEW_ONE', 'text'],
    [3, 'a number'],
    [[{ key: 'done' }], 'a list'],
    [{ key: 5 }, 'an object'],
    [{ key: 'finished' }, 'an object'],
  ])(
    'the category %j, which is none that is known, is kept with the reason and noted',
    (statusCategory, kind) => {
      const { row, notes } = transform.status({ id: '3', name: 'S', statusCategory }, whole);
      const reason = `expected a category that is known, got ${kind}`;
      expect(row.category).toBe('unknown');
      expect(JSON.parse(String(row._extra))).toEqual({
        statusCategory: { _raw: statusCategory, _reason: reason },
      });
      expect(notes).toEqual([`statusCategory: ${reason}`]);
    },
  );

  it.each([undefined, null, { key: 'undefined' }, { key: 'done' }])(
    'the category %j is no surprise',
    (statusCategory) => {
      const { row, notes } = transform.status({ id: '3', name: 'S', statusCategory }, whole);
      expect([row._extra, notes]).toEqual([null, undefined]);
    },
  );

  it('belong to one project or to all', () => {
    const scope = { type: 'PROJECT', project: { id: '10003' } };
    expect(transform.status({ id: '3', name: 'S', scope }, whole).row.project_id).toBe(10003);
    const global = transform.status({ id: '3', name: 'S', scope: { type: 'GLOBAL' } }, whole).row;
    expect([global.project_id, global._extra]).toEqual([null, null]);
    const template = transform.status(
      { id: '3', name: 'S', scope: { type: 'TEMPLATE', from: 't' } },
      whole,
    ).row;
    expect([template.project_id, template._extra]).toEqual([
      null,
      '{"scope.type":"TEMPLATE","scope.from":"t"}',
    ]);
    expect(
      transform.issueType({ id: '1', name: 'Epic', subtask: false, hierarchyLevel: 1, scope }, whole).row,
    ).toMatchObject({ hierarchy_level: 1, subtask: false, project_id: 10003 });
    expect(transform.priority({ id: '1', name: 'High', rank: 2 }, whole).row).toMatchObject({
      id: 1,
      rank: 2,
    });
  });
});

describe.each<[string, (record: unknown, slice: Slice) => { readonly row: object }, Table]>([
  ['project', transform.project, tables.projects],
  ['field', transform.field, tables.fields],
  ['user', transform.user, tables.users],
  ['group', transform.group, tables.groups],
  ['groupMember', transform.groupMember, tables.groupMembers],
  ['board', transform.board, tables.boards],
  ['sprint', transform.sprint, tables.sprints],
  ['boardSprint', transform.boardSprint, tables.boardSprints],
  ['sprintIssue', transform.sprintIssue, tables.sprintIssues],
  ['status', transform.status, tables.statuses],
  ['issueType', transform.issueType, tables.issueTypes],
  ['priority', transform.priority, tables.priorities],
])('the transform %s', (_, map, table) => {
  it('gives exactly the columns of its table, or BadData that names a field', () => {
    const slice = { partition: { board_id: '1', sprint_id: '2', group_id: '3' } };
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom<unknown>('1', '2', 'name', 'a\0', '\ud800', 2 ** 60, { id: '1', name: 'x' }),
    );
    const keys = [
      'id',
      'key',
      'name',
      'accountId',
      'groupId',
      'state',
      'schema',
      'scope',
      'lead',
      'more',
      '__proto__',
    ];
    const record = fc.oneof(
      fc.record(Object.fromEntries(keys.map((key) => [key, value])), { requiredKeys: [] }),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(record, (given) => {
        try {
          expect(Object.keys(map(given, slice).row).sort()).toEqual(Object.keys(table.columns).sort());
        } catch (error) {
          if (!(error instanceof BadData)) throw error;
          expect(error.field).toEqual(expect.any(String));
        }
      }),
      { numRuns: 300 },
    );
    const good = { id: '1', key: 'K', name: 'N', accountId: 'A', state: 'active' };
    expect(Object.keys(map(good, slice).row).sort()).toEqual(Object.keys(table.columns).sort());
  });
});
