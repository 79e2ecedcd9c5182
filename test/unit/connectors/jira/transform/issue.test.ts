import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { issueChildren, issues } from '../../../../../src/connectors/jira/issue-tables.ts';
import { catalogueOf } from '../../../../../src/connectors/jira/transform/field-catalogue.ts';
import { partRowsBy } from '../../../../../src/connectors/jira/transform/issue-parts.ts';
import { BadData } from '../../../../../src/core/errors.ts';
import { ExactNumber, parseJson } from '../../../../../src/core/json.ts';
import type { Mapped } from '../../../../../src/core/stream.ts';
import type { Row, Table } from '../../../../../src/core/table.ts';
import { parseInstant } from '../../../../../src/core/time.ts';
import { BinaryWriter } from '../../../../../src/load/binary.ts';
import { withStorableText } from '../../../../../src/load/storable-text.ts';
import * as recorded from './issue-record.ts';
import {
  ann,
  bob,
  catalogue,
  comment,
  fields,
  history,
  issue,
  mapIssue,
  paragraph,
  without,
} from './issue-record.ts';

/** Of a site whose fields are not known. */
const noCatalogue = catalogueOf(new Map());
const words = (text: string): readonly string[] => text.split(' ');
const json = (text: unknown): unknown => JSON.parse(String(text));

/** The catalogue of a site with these fields: their names and custom types; null: a field of the tracker itself. */
const customFieldsOf = (fields: Readonly<Record<string, readonly [name: string, custom: string | null]>>) =>
  catalogueOf(
    new Map(
      Object.entries(fields).map(([id, [name, schema_custom]]): [string, Row] => [
        id,
        { name, custom: schema_custom !== null, schema_custom, schema_type: 'number' },
      ]),
    ),
  );
const agile = (name: string): string =>
  `com.pyxis.greenhopper.jira:${name.replace(/^(?=sprint|epic)/, 'gh-')}`;

const rejection = (record: unknown): { code: string; field: string | undefined; message: string } => {
  try {
    mapIssue(record);
  } catch (error) {
    if (error instanceof BadData) return { code: error.code, field: error.field, message: error.message };
    throw error;
  }
  throw new Error('the record was not rejected');
};

describe('an issue of the vendor', () => {
  it('becomes one row with every typed column', () => {
    const { row, notes, nestedLists } = mapIssue(issue());
    expect(row).toEqual({
      id: 10063,
      key: 'PROJ-7',
      project_id: 10003,
      issue_type_id: 10004,
      issue_type: '任务',
      is_subtask: false,
      status_id: 10022,
      status: '进行中',
      status_category: 'in_progress',
      priority_id: 3,
      priority: 'Medium',
      resolution_id: 10000,
      resolution: 'Done',
      parent_id: 10001,
      epic_id: 10001,
      epic_key: 'PROJ-1',
      assignee_id: ann.accountId,
      reporter_id: bob.accountId,
      creator_id: bob.accountId,
      summary: 'Something is wrong',
      description: 'It does not work.',
      environment: null,
      description_adf: JSON.stringify(paragraph('It does not work.')),
      environment_adf: null,
      labels: ['backend', 'urgent'],
      components: ['API'],
      fix_versions: ['1.0'],
      affects_versions: ['0.9'],
      security_level: 'Internal',
      security_level_id: 1,
      due_date: '2020-06-30',
      created_at: parseInstant('2020-06-12T00:13:13.360Z'),
      updated_at: parseInstant('2020-06-20T02:00:00.001Z'),
      resolved_at: parseInstant('2020-06-20T03:29:59.999Z'),
      status_category_changed_at: parseInstant('2020-06-19T02:00:00Z'),
      original_estimate_seconds: 28_800,
      remaining_estimate_seconds: 3600,
      time_spent_seconds: 25_200,
      start_date: null,
      is_flagged: false,
      team: null,
      story_points: '5',
      votes: 2,
      watchers: 3,
      custom_fields: expect.any(String),
      _extra: null,
    });
    expect(json(row.custom_fields)).toEqual({
      customfield_10016: 5,
      customfield_10020: fields.customfield_10020,
    });
    expect(notes).toBeUndefined();
    expect(nestedLists).toBeUndefined();
  });

  it('has the other end of a link that shows both, and a link to itself from each side', () => {
    const type = { id: '10000', name: 'Blocks', inward: 'is blocked by', outward: 'blocks' };
    const self = { id: '10063', key: 'PROJ-7' };
    const other = { id: '10064', key: 'PROJ-8' };
    const issuelinks = [
      { id: '1', type, outwardIssue: other, inwardIssue: self },
      { id: '2', type, outwardIssue: self, inwardIssue: other },
      { id: '3', type, outwardIssue: self },
      { id: '3', type, inwardIssue: self },
    ];
    const links = mapIssue(issue({ issuelinks })).children.links ?? [];
    expect(links.map((link) => `${link.link_id} ${link.direction} ${link.other_issue_key}`)).toEqual([
      '1 outward PROJ-8',
      '2 inward PROJ-8',
      '3 outward PROJ-7',
      '3 inward PROJ-7',
    ]);
  });

  it('brings its labels, components, versions, links, sprints and keys', () => {
    const { children } = mapIssue(issue());
    expect(children.labels).toEqual([
      { issue_id: 10063, label: 'backend' },
      { issue_id: 10063, label: 'urgent' },
    ]);
    expect(children.components).toMatchObject([{ component_id: 10010, name: 'API', description: null }]);
    expect(children.versions).toMatchObject([
      { kind: 'fix', version_id: 10100, name: '1.0', archived: false, release_date: '2020-07-01' },
      { kind: 'affected', version_id: 10099, name: '0.9', archived: true, release_date: null },
    ]);
    expect(children.links).toMatchObject([
      {
        link_id: 10200,
        direction: 'outward',
        type_id: 10000,
        type_name: 'Blocks',
        outward: 'blocks',
        inward: 'is blocked by',
        other_issue_id: 10064,
        other_issue_key: 'PROJ-8',
      },
      { link_id: 10201, direction: 'inward', other_issue_key: 'OTHER-9' },
    ]);
    expect(children.sprints).toMatchObject([
      {
        sprint_id: 7,
        name: 'Sprint 7',
        state: 'active',
        board_id: 2,
        goal: 'ship',
        completed_at: null,
        start_at: parseInstant('2020-06-12T00:38:00Z'),
        end_at: parseInstant('2020-06-26T00:38:00Z'),
      },
    ]);
    expect(children.keys).toEqual([
      { key: 'PROJ-7', issue_id: 10063 },
      { key: 'OLD-3', issue_id: 10063 },
    ]);
  });

  it('brings its changelog, one row a field, and never takes the inherited toString for a value', () => {
    const change = (item: number, more: object) =>
      expect.objectContaining({ history_id: 10501, item, ...more });
    const { changelog = [] } = mapIssue(issue()).children;
    expect(changelog).toEqual([
      change(0, { from_id: '10021', from_text: '待办', to_id: '10022', to_text: '进行中', _extra: null }),
      change(1, { from_text: null, to_id: '10000', to_text: null }),
      change(0, { history_id: 10500, field_id: 'Key', from_text: 'OLD-3', to_text: 'PROJ-7' }),
    ]);
    expect(changelog[0]).toMatchObject({
      issue_id: 10063,
      author_id: ann.accountId,
      field_id: 'status',
      field_name: 'status',
      changed_at: parseInstant('2020-06-12T00:13:13.360Z'),
    });
  });

  it('has every worklog of its list, whatever issue the worklog names, as in the vendor’s own example', () => {
    const self = 'https://your-domain.atlassian.net/rest/api/3/issue/10010/worklog/10000';
    const one = { self, id: '100028', started: '2021-01-17T12:34:00.000+0000', timeSpentSeconds: 12000 };
    for (const more of [{}, { issueId: '10063' }, { issueId: '10002' }]) {
      const worklog = { worklogs: [{ ...one, ...more }], total: 1 };
      expect(mapIssue(issue({ worklog })).children.worklogs).toHaveLength(1);
    }
  });

  it('brings its comments and worklogs with their originals', () => {
    const { children } = mapIssue(issue());
    expect(children.comments).toMatchObject([
      {
        id: 10300,
        issue_id: 10063,
        author_id: ann.accountId,
        update_author_id: bob.accountId,
        body: 'comment 10300',
        body_adf: JSON.stringify(paragraph('comment 10300')),
        _extra: null,
        created_at: parseInstant('2020-06-13T00:00:00Z'),
        updated_at: parseInstant('2020-06-13T01:00:00Z'),
      },
    ]);
    expect(children.worklogs).toMatchObject([
      {
        id: 10400,
        issue_id: 10063,
        author_id: ann.accountId,
        time_spent_seconds: 4800,
        comment: 'worked',
        comment_adf: JSON.stringify(paragraph('worked')),
        _extra: null,
        started_at: parseInstant('2020-06-13T23:00:00Z'),
      },
    ]);
  });

  it('keeps descriptions of versions and components, and their members without a column by path', () => {
    const component = { id: '1', name: 'API', description: 'What others call', self: 'https://e' };
    const version = {
      id: '2',
      name: '2.0',
      description: 'The big one',
      startDate: '2020-06-01',
      overdue: true,
    };
    const { row, children } = mapIssue(
      issue({
        components: [{ ...component, lead: { accountId: 'a' } }],
        fixVersions: [version],
        versions: [{ id: '3' }, { id: '4', driver: 'd', approvers: null }],
      }),
    );
    expect(children.components).toEqual([
      { issue_id: 10063, component_id: 1, name: 'API', description: 'What others call' },
    ]);
    expect(children.versions?.[0]).toMatchObject({ start_date: '2020-06-01', description: 'The big one' });
    expect(json(row._extra)).toEqual({ 'components[0].lead': { accountId: 'a' }, 'versions[1].driver': 'd' });
  });

  it('keeps the id of the group that may see a comment or a worklog, because its name can change', () => {
    const visibility = { type: 'group', value: 'devs', identifier: 'g-1', hidden: false };
    const restricted = recorded.worklog('2', { visibility: { ...visibility, identifier: 'devs' } });
    const { children } = mapIssue(
      issue({
        comment: { comments: [comment('1', { visibility })], total: 1 },
        worklog: { worklogs: [restricted], total: 1 },
      }),
    );
    expect(children.comments?.[0]?.visibility).toBe('group:devs');
    expect(json(children.comments?.[0]?._extra)).toEqual({
      'visibility.identifier': 'g-1',
      'visibility.hidden': false,
    });
    expect(json(children.worklogs?.[0]?._extra)).toEqual({ 'visibility.hidden': false });
  });
});

describe('lists that come with an issue', () => {
  it('are fetched when they did not come, or came truncated: a part is not used', () => {
    const missing = mapIssue({ ...without('comment', 'worklog'), changelog: undefined });
    const truncated = mapIssue(
      issue(
        { comment: { comments: [comment('1')], total: 2 }, worklog: { worklogs: [], total: 1 } },
        { changelog: { ...recorded.changelog, total: 3 } },
      ),
    );
    for (const { children, nestedLists } of [missing, truncated]) {
      expect(Object.keys(children).sort()).toEqual(words('components keys labels links sprints versions'));
      expect(nestedLists?.map(({ child, walk }) => `${child} ${walk.first.path}`)).toEqual([
        'changelog /changelog',
        'keys /changelog',
        'comments /comments',
        'worklogs /worklogs',
      ]);
      expect(nestedLists?.[0]?.walk).toBe(nestedLists?.[1]?.walk);
    }
  });

  it('are mapped from the fetched records; former keys only where they are new', () => {
    const { nestedLists, children } = mapIssue(issue({}, { changelog: { ...recorded.changelog, total: 3 } }));
    const older = history('10400', [{ field: 'Key', fromString: 'ANCIENT-1', toString: 'OLD-3' }]);
    const records = [...recorded.changelog.histories, older, older];
    expect(nestedLists?.[0]?.rows(records).map((row) => row.history_id)).toEqual([
      10501, 10501, 10500, 10400,
    ]);
    expect(children.keys?.map(({ key }) => key)).toEqual(['PROJ-7', 'OLD-3']);
    expect(nestedLists?.[1]?.rows(records)).toEqual([{ key: 'ANCIENT-1', issue_id: 10063 }]);
  });

  it('name the issue when a fetched record is bad', () => {
    const { nestedLists } = mapIssue(issue({ comment: { comments: [], total: 1 } }));
    expect(() => nestedLists?.[0]?.rows([comment('5', { created: 'now' })])).toThrow(
      /^tracker\.comments: issue 10063: comment 5 has a bad created: "now" is not an instant/,
    );
  });

  it('are complete when they have as many records as their total, or no total', () => {
    const isComplete = (total: unknown) =>
      'comments' in mapIssue(issue({ comment: { comments: [comment('1'), comment('2')], total } })).children;
    for (const total of [2, null, undefined, 1]) expect([total, isComplete(total)]).toEqual([total, true]);
    for (const total of [3, -1, 1.5, '2']) expect([total, isComplete(total)]).toEqual([total, false]);
  });

  it('do not become complete by repeating a record', () => {
    for (const id of ['1', 1, new ExactNumber('9007199254740993')]) {
      const twice = { comments: [comment('1', { id }), comment('1', { id })], total: 2 };
      const { children, nestedLists } = mapIssue(issue({ comment: twice }));
      expect(children).not.toHaveProperty('comments');
      expect(nestedLists).toMatchObject([{ child: 'comments', shown: [String(id)] }]);
    }
  });

  const changed = (items: readonly unknown[], siteFields = catalogue) =>
    mapIssue(issue({}, { changelog: { histories: [history('1', items)] } }), siteFields).children;
  const fieldIds = ({ changelog }: Mapped['children']) => changelog?.map(({ field_id }) => field_id);

  it('name their author by key or name; an anonymous change has none', () => {
    const items = [{ field: 'summary', toString: 'x' }];
    const named = [{ displayName: 'Anonymous' }, { key: 'JIRAUSER1', name: 'ann' }, { name: 'ann' }];
    const histories = [undefined, null, ...named].map((author, at) =>
      history(String(at + 1), items, { author }),
    );
    const { children } = mapIssue(issue({}, { changelog: { histories } }));
    expect(children.changelog?.map((row) => row.author_id)).toEqual([null, null, null, 'JIRAUSER1', 'ann']);
  });

  it('distinguish a custom field that is called Key from the key of the issue', () => {
    const custom = { field: 'Key', fieldtype: 'custom', from: null, fromString: 'LICENCE-1', to: null };
    const children = changed([
      { ...custom, fieldId: 'customfield_10077', toString: 'LICENCE-2' },
      // Of a field that was deleted: it has no id any more.
      { ...custom, toString: 'x'.repeat(3000) },
      { field: 'Key', fieldtype: 'jira', from: null, fromString: 'OLD-3', to: null, toString: 'PROJ-7' },
    ]);
    expect(children.keys?.map(({ key }) => key)).toEqual(['PROJ-7', 'OLD-3']);
    expect(fieldIds(children)).toEqual(['customfield_10077', 'custom field Key', 'Key']);
  });

  it('name a custom field without an id by its only field of that name, never as one of the tracker itself', () => {
    const siteFields = customFieldsOf({
      customfield_10007: ['Sprint', agile('sprint')],
      customfield_10020: ['Sprint', agile('sprint')],
      customfield_1: ['Team', 'com.example:team'],
      customfield_2: ['Team', 'com.example:team'],
    });
    const items = ['Sprint', 'Team', 'status'].map((field) => ({ field, fieldtype: 'custom', to: '7' }));
    const children = changed([...items, { field: 'status', fieldtype: 'jira', to: '7' }], siteFields);
    expect(fieldIds(children)).toEqual(['customfield_10007', 'Team', 'custom field status', 'status']);
  });

  it('keep with a change what made it, and members of an item that repeat no value', () => {
    const assignee = { field: 'assignee', fieldtype: 'jira', from: null, to: 'a', tmpToAccountId: 'a' };
    // Of a deleted field: only its type says that it was a custom one.
    const team = { field: 'Team', fieldtype: 'custom', to: '7', place: 3 };
    const historyMetadata = { type: 'automation', cause: { id: '17' } };
    const histories = [
      history('2', [assignee, team], { historyMetadata }),
      history('1', [assignee], { author: { displayName: 'Automation' } }),
    ];
    const { children } = mapIssue(issue({}, { changelog: { histories } }));
    expect(children.changelog?.map(({ _extra }) => json(_extra))).toEqual([
      { historyMetadata },
      { historyMetadata, fieldtype: 'custom', place: 3 },
      { author: { displayName: 'Automation' } },
    ]);
  });

  it('keep values of any type in the changelog as text', () => {
    const to = new ExactNumber('9007199254740993');
    const { changelog } = changed([{ field: 'f', from: 1, fromString: true, to, toString: ['a'] }]);
    expect(changelog).toMatchObject([
      { from_id: '1', from_text: 'true', to_id: '9007199254740993', to_text: '["a"]' },
    ]);
  });
});

describe('custom fields', () => {
  const customFields = (values: recorded.Fields): unknown => {
    const { fields: rest } = without('customfield_10016', 'customfield_10020');
    return json(mapIssue(issue({}, { fields: { ...rest, ...values } })).row.custom_fields);
  };

  const option = (value: string, more = {}) => ({ self: 'https://x', value, id: '10', ...more });
  it('keep options by their labels, people by their ids, and other values as they are', () => {
    const group = { name: 'jira-users', groupId: 'x' };
    const money = { value: 'EUR', amount: 5 };
    const people = [ann, bob];
    const kept: readonly (readonly [unknown, unknown])[] = [
      [option('Blue'), 'Blue'],
      [[option('Red'), option('Green')], words('Red Green')],
      [ann, ann.accountId],
      [people, people.map(({ accountId }) => accountId)],
      [option('Europe', { child: option('Berlin') }), words('Europe Berlin')],
      [
        [option('x'), null],
        ['x', null],
      ],
      ...['text', ['a', 'b'], false, 0, '', [], group, money].map((same) => [same, same] as const),
    ];
    for (const [value, expected] of kept)
      expect(customFields({ customfield_1: value })).toEqual({ customfield_1: expected });
    expect(customFields({ customfield_1: null })).toEqual({});
  });

  it('keep numbers exactly', () => {
    const exact = '"customfield_1":9007199254740993,"customfield_2":12345678901234567.89';
    const text = JSON.stringify(issue()).replace(
      '"customfield_10016":5',
      `"customfield_10016":5.50,${exact}`,
    );
    const { row } = mapIssue(parseJson(Buffer.from(text)));
    expect(String(row.custom_fields)).toContain(exact);
    expect(row.story_points).toBe('5.5');
  });

  it.each([
    [0.125, '0.125'],
    [1e21, '1000000000000000000000'],
    [1e-7, '0.0000001'],
    [-0, '0'],
  ])('give story points %s as the decimal %s, from the first field that has some', (points, text) => {
    expect(mapIssue(issue({ customfield_10016: points })).row.story_points).toBe(text);
    const second = issue({ customfield_10016: null, customfield_10026: points });
    expect(mapIssue(second).row.story_points).toBe(text);
  });

  it('are those that the catalogue lists as custom; other fields without a column are kept in _extra', () => {
    const siteFields = { ...noCatalogue, fieldsById: new Map([['risk', { name: 'Risk', custom: true }]]) };
    const { row } = mapIssue(issue({ risk: 'high', attachment: [{ id: '1' }], nothing: null }), siteFields);
    expect(json(row.custom_fields)).toMatchObject({ risk: 'high' });
    expect(json(row._extra)).toEqual({ attachment: [{ id: '1' }] });
  });

  it('reveal the sprints by their shape where no catalogue names the field', () => {
    const sprintsOf = (changes: recorded.Fields) => mapIssue(issue(changes), noCatalogue).children.sprints;
    expect(sprintsOf({})).toEqual(mapIssue(issue()).children.sprints);
    const one = { name: 'One', state: 'active' };
    for (const id of [37, '37'])
      expect(sprintsOf({ customfield_10020: [{ ...one, id }] })).toMatchObject([{ ...one, sprint_id: 37 }]);
    const other = [{ id: 1, name: 'not a sprint', state: 'odd' }];
    expect(sprintsOf({ customfield_10020: null, customfield_99: other })).toEqual([]);
  });

  it('and the fields of the agile API give each sprint once', () => {
    const sprint = { id: 7, name: 'Sprint 7', state: 'active', originBoardId: 2 };
    const closed = [{ id: 5, name: 'Sprint 5', state: 'closed', completeDate: '2020-05-01T00:00:00.000Z' }];
    const { children, row } = mapIssue(
      issue({ sprint, closedSprints: closed, epic: { id: 10001, key: 'PROJ-1' }, parent: null }),
    );
    expect(children.sprints?.map((each) => each.sprint_id)).toEqual([7, 5]);
    expect(row).toMatchObject({ epic_id: 10001, epic_key: 'PROJ-1', parent_id: null });
  });

  it('an epic link by mistake, whose text is too long for a key, is noted and stays in the custom fields', () => {
    const long = 'not a key '.repeat(400);
    const { row, notes } = mapIssue(issue({ parent: null, customfield_10014: long }));
    expect(row).toMatchObject({ epic_key: null });
    expect(json(row.custom_fields)).toMatchObject({ customfield_10014: long });
    expect(notes).toEqual([
      'fields.customfield_10014: a text too long for the key of an epic; it is in custom_fields only',
    ]);
  });

  it.each([
    [
      'parent.fields.issuetype.hierarchyLevel',
      { fields: { issuetype: { hierarchyLevel: 'one' } } },
      'one',
      'a whole number, got text',
    ],
    ['parent.fields.issuetype', { fields: { issuetype: 'Epic' } }, 'Epic', 'an object, got text'],
    ['parent.fields', { fields: [] }, [], 'an object, got a list'],
  ])('say why a parent with an unreadable level is not taken for the epic: %s', (path, odd, raw, why) => {
    const { row, notes } = mapIssue(issue({ parent: { id: '10001', key: 'PROJ-1', ...odd } }));
    expect(row).toMatchObject({ parent_id: 10001, epic_id: null });
    expect(json(row._extra)).toMatchObject({ [path]: { _raw: raw, _reason: `expected ${why}` } });
    expect(notes).toContain(`fields.${path}: expected ${why}`);
  });

  it('give the epic by its link where nothing else does', () => {
    const { row } = mapIssue(issue({ parent: null, customfield_10014: 'PROJ-2' }));
    expect(row).toMatchObject({ epic_id: null, epic_key: 'PROJ-2' });
  });

  it.each([
    [{ customfield_10015: '2024-02-29' }, { start_date: '2024-02-29', is_flagged: false, team: null }],
    [{ customfield_10021: [{ value: '障害', id: '1' }] }, { is_flagged: true }],
    [{ customfield_10021: [] }, { is_flagged: false }],
    [{ customfield_10001: { id: 't-1', name: 'Blue', title: 'Blue' } }, { team: 'Blue' }],
    [{ customfield_10001: { id: 't-1', title: 'Blue' } }, { team: 'Blue' }],
    [{ customfield_10001: { id: 't-1' } }, { team: 't-1' }],
    [{ customfield_10001: 't-1' }, { team: 't-1' }],
    [{ customfield_10001: 7 }, { team: '7' }],
  ])('give start day, flag and team: %j', (changes, row) => {
    expect(mapIssue(issue(changes)).row).toMatchObject(row);
  });

  it('say nothing of a flag where the site has no such field', () => {
    const siteFields = { ...noCatalogue, byRole: new Map() };
    expect(mapIssue(issue(), siteFields).row).toMatchObject({
      start_date: null,
      is_flagged: null,
      team: null,
    });
  });

  it('are found in the list of fields by their types and names', () => {
    const siteFields = customFieldsOf({
      customfield_3: ['Sprint', agile('sprint')],
      customfield_2: ['Story Points', 'com.atlassian.jira.plugin.system.customfieldtypes:float'],
      customfield_1: ['Schätzung', agile('jsw-story-points')],
      customfield_4: ['Epic Link', agile('epic-link')],
      story_points: ['Story points', null],
    });
    expect(siteFields).toMatchObject({
      byRole: new Map([
        ['story_points', ['customfield_1', 'customfield_2']],
        ['sprint', ['customfield_3']],
        ['epic_link', ['customfield_4']],
        ['flagged', []],
        ['team', []],
        ['start_date', []],
      ]),
    });
  });

  it('are read from the field that the issue uses, where an import left the site with several of a type', () => {
    const several = customFieldsOf({
      customfield_10007: ['Sprint', agile('sprint')],
      customfield_10020: ['Sprint', agile('sprint')],
      customfield_10008: ['Epic Link', agile('epic-link')],
      customfield_10014: ['Epic Link', agile('epic-link')],
    });
    const { row, children } = mapIssue(issue({ parent: null, customfield_10014: 'PROJ-2' }), several);
    expect(children.sprints).toMatchObject([{ sprint_id: 7 }]);
    expect(row.epic_key).toBe('PROJ-2');
  });
});

describe('a field that changed its type', () => {
  it.each([
    ['summary', 5, 'summary', null, 'text', 'a number'],
    ['summary', { a: 1 }, 'summary', null, 'text', 'an object'],
    ['assignee', 'ann', 'assignee_id', null, 'a user with an id', 'text'],
    ['assignee', { displayName: 'Ann' }, 'assignee_id', null, 'a user with an id', 'an object'],
    ['description', ['a'], 'description', null, 'text or a document', 'a list'],
    ['description', { raw: 'a' }, 'description', null, 'text or a document', 'an object'],
    ['timespent', '1h', 'time_spent_seconds', 25_200, 'a whole number', 'text'],
    ['timeoriginalestimate', 1.5, 'original_estimate_seconds', null, 'a whole number', 'a number'],
    ['votes', 5, 'votes', null, 'an object', 'a number'],
    ['priority', 'High', 'priority_id', null, 'an object', 'text'],
    ['resolution', [], 'resolution', null, 'an object', 'a list'],
    ['labels', 'backend', 'labels', [], 'a list', 'text'],
    ['components', { id: '1' }, 'components', [], 'a list', 'an object'],
    ['customfield_10016', 'five', 'story_points', null, 'a number', 'text'],
    ['security', true, 'security_level', null, 'an object', 'true or false'],
    ['duedate', 20240101, 'due_date', null, 'a day', 'a number'],
  ])(
    '%s = %j leaves %s %j and keeps the raw value with the reason',
    (field, raw, column, value, expected, got) => {
      const { row, notes } = mapIssue(issue({ [field]: raw }));
      expect(row[column]).toEqual(value);
      const reason = `expected ${expected}, got ${got}`;
      expect(json(row._extra)).toMatchObject({ [field]: { _raw: raw, _reason: reason } });
      expect(notes).toContain(`fields.${field}: ${reason}`);
    },
  );

  it('within one element costs that value only', () => {
    const bad = [{ id: '1', name: 5 }, { name: 'no id' }, 'text', { id: 'abc', name: 'x' }];
    const components = [...bad, { id: '2', name: 'ok' }];
    const { row, children, notes, badParts } = mapIssue(issue({ components }));
    expect(children.components?.map(({ component_id, name }) => [component_id, name])).toEqual([
      [1, null],
      [2, 'ok'],
    ]);
    expect(row.components).toEqual(['ok']);
    expect(Object.keys(json(row._extra) as object)).toEqual(['components[0].name']);
    // One note a field, so that ten thousand issues do not make ten thousand notes.
    expect(notes).toEqual(['fields.components[].name: expected text, got a number']);
    // An element without its key is rejected by itself (guarantee G12).
    expect(badParts?.map(({ child, part, error }) => [child, part, error.code])).toEqual([
      ['components', bad[1], 'missing_field'],
      ['components', bad[2], 'bad_type'],
      ['components', bad[3], 'bad_type'],
    ]);
  });

  it('in a comment is kept with the comment', () => {
    const { children, row, notes } = mapIssue(
      issue({ comment: { comments: [comment('1', { author: 5, parentId: 9 })], total: 1 } }),
    );
    expect(row._extra).toBeNull();
    expect(json(children.comments?.[0]?._extra)).toEqual({
      parentId: 9,
      author: { _raw: 5, _reason: 'expected a user with an id, got a number' },
    });
    expect(notes).toEqual(['fields.comment.comments[].author: expected a user with an id, got a number']);
  });
});

describe('an issue with a bad key or a value that cannot be typed is rejected', () => {
  it('and the error says which, what and where', () => {
    expect(rejection(without('updated'))).toEqual({
      code: 'missing_field',
      field: 'fields.updated',
      message: 'tracker.issues: issue PROJ-7 has no fields.updated',
    });
  });

  it.each([
    [5, 'bad_type', '(record)'],
    [[], 'bad_type', '(record)'],
    [{}, 'missing_field', 'id'],
  ])('%j: %s %s', (record, code, field) => {
    expect(rejection(record)).toMatchObject({ code, field });
  });

  const big = '9223372036854775808';
  it.each<[field: string, value: unknown, code: string, within?: string]>([
    ['id', 'abc', 'bad_type'],
    ['id', '007', 'bad_type'],
    ['id', 1.5, 'bad_type'],
    ['id', big, 'bad_integer'],
    ['id', 2 ** 64, 'bad_integer'],
    ['id', new ExactNumber(big), 'bad_integer'],
    ['id', new ExactNumber('1e400'), 'bad_integer'],
    ['key', '', 'missing_field'],
    ['key', 7, 'bad_type'],
    ['key', 'K'.repeat(2601), 'key_too_long'],
    ['key', '€'.repeat(867), 'key_too_long'],
    ['key', 'A\0-1', 'bad_text'],
    ['fields', null, 'missing_field'],
    ['fields.project', 'PROJ', 'bad_type'],
    ['fields.project', {}, 'missing_field', '.id'],
    ['fields.status', null, 'missing_field'],
    ['fields.status', { id: 'x' }, 'bad_type', '.id'],
    ['fields.created', 'now', 'bad_instant'],
    ['fields.updated', '2024-02-30T00:00:00.000+0000', 'bad_instant'],
    ['fields.resolutiondate', 'infinity', 'bad_instant'],
    ['fields.duedate', '2024-02-30', 'bad_date'],
    ['fields.timespent', new ExactNumber(big), 'bad_integer'],
    ['fields.customfield_10016', new ExactNumber('1e200000'), 'bad_number'],
    ['fields.customfield_1', Number.POSITIVE_INFINITY, 'bad_number'],
  ])('%#: a bad %s', (path, value, code, within = '') => {
    const [name = '', field] = path.split('.');
    const record = field === undefined ? issue({}, { [name]: value }) : issue({ [field]: value });
    expect(rejection(record)).toMatchObject({ code, field: `${path}${within}` });
  });

  const badSprint = { id: 1, name: 'S', startDate: 'soon' };
  const twoLinks = [{ id: '1', outwardIssue: { id: '7' } }, { id: '2' }];
  const comments = (...two: unknown[]) => ({ comments: [comment('1'), ...two] });
  const worklogs = (one: unknown) => ({ worklogs: [one] });
  const histories = (...all: unknown[]) => ({ histories: [history('1', [{ field: 'ok' }]), ...all] });

  // A history item without a field: an app's, of a public report (Jellyfish-AI/jf_agent#110). The others are guarantee G12.
  it.each<
    [child: string, path: string, value: unknown, part: unknown, code: string, within: string, rows: number]
  >([
    ['labels', 'fields.labels', ['ok', 'a\udfff'], 'a\udfff', 'bad_text', '[1]', 1],
    ['labels', 'fields.labels', ['ok', 'x'.repeat(3000)], 'x'.repeat(3000), 'key_too_long', '[1]', 1],
    ['labels', 'fields.labels', [5, 'ok'], 5, 'bad_type', '[0]', 1],
    [
      'sprints',
      'fields.customfield_10020',
      [badSprint, { id: 2 }],
      badSprint,
      'bad_instant',
      '[0].startDate',
      1,
    ],
    ['sprints', 'fields.customfield_10020', [7, { id: 2 }], 7, 'bad_type', '[0]', 1],
    ['versions', 'fields.fixVersions', ['1.0', { id: '1' }], '1.0', 'bad_type', '[0]', 1],
    ['components', 'fields.components', [null, { id: '1' }], null, 'bad_type', '[0]', 1],
    ['links', 'fields.issuelinks', twoLinks, { id: '2' }, 'missing_field', '[1].outwardIssue', 1],
    [
      'comments',
      'fields.comment',
      comments({ body: 'x' }),
      { body: 'x' },
      'missing_field',
      '.comments[1].id',
      1,
    ],
    ['comments', 'fields.comment', comments(null), null, 'bad_type', '.comments[1].(record)', 1],
    [
      'worklogs',
      'fields.worklog',
      worklogs({ id: '1', started: '1/2/24' }),
      { id: '1', started: '1/2/24' },
      'bad_instant',
      '.worklogs[0].started',
      0,
    ],
    [
      'changelog',
      'changelog',
      histories(history('2', [{}, { field: 'x' }])),
      {},
      'missing_field',
      '.histories[1].items[].field',
      2,
    ],
    [
      'changelog',
      'changelog',
      histories({ id: '2', items: [] }),
      { id: '2', items: [] },
      'missing_field',
      '.histories[1].created',
      1,
    ],
    ['changelog', 'changelog', histories(null), null, 'bad_type', '.histories[1].(record)', 1],
  ])('but a bad one of its %s costs itself alone: %#', (child, path, value, part, code, within, rows) => {
    const [name = '', field] = path.split('.');
    const record = field === undefined ? issue({}, { [name]: value }) : issue({ [field]: value });
    const { children, badParts } = mapIssue(record);
    expect(badParts).toMatchObject([{ child, part, error: { code, field: `${path}${within}` } }]);
    expect(children[child]?.filter(({ kind }) => kind !== 'affected')).toHaveLength(rows);
  });

  it('and parts that can be read by now become the rows that their issue would give', () => {
    const changed = histories(history('2', [{ field: 'a' }, { field: 'b' }]));
    const record = issue(
      {
        labels: ['x'],
        components: [{ id: '1', name: 'c' }],
        fixVersions: [{ id: '2' }],
        versions: [{ id: '3' }],
        issuelinks: [{ id: '4', outwardIssue: { id: '7', key: 'A-7' } }],
        customfield_10020: [{ id: 5, name: 'S', state: 'active' }],
        comment: { comments: [comment('6')], total: 1 },
      },
      { changelog: changed },
    );
    const { children } = mapIssue(record);
    const { fields } = record as { fields: Record<string, unknown[]> };
    const again = partRowsBy((record) => mapIssue(record));
    const given = { issue_id: '10063' };
    for (const [child, field, part] of [
      ...['labels', 'components', 'fixVersions', 'versions', 'issuelinks', 'customfield_10020'].map(
        (field) => {
          const named: Record<string, string> = {
            fixVersions: 'versions',
            issuelinks: 'links',
            customfield_10020: 'sprints',
          };
          return [named[field] ?? field, field, fields[field]?.[0]] as const;
        },
      ),
      ['comments', undefined, comment('6')] as const,
    ]) {
      const rows = again(child, part, { ...given, ...(field && { field }) });
      expect(rows, child).toHaveLength(1);
      expect(children[child], child).toContainEqual(rows[0]);
    }
    const [first, second] = changed.histories as { items: unknown[] }[];
    expect(again('changelog', first, given)).toEqual(children.changelog?.slice(0, 1));
    const item = { ...given, change: { ...second, items: [] }, item: 1 };
    expect(again('changelog', second?.items[1], item)).toEqual(children.changelog?.slice(2, 3));
    expect(() => again('comments', { id: '6' }, given)).toThrow('has no');
  });

  it('when it is deeper than Postgres takes, with the process alive', () => {
    let deep: unknown = 'bottom';
    for (let level = 0; level < 100_000; level++) deep = { content: [deep] };
    for (const name of words('description customfield_1 unknown'))
      expect(rejection(issue({ [name]: deep }))).toMatchObject({ code: 'too_deep', field: `fields.${name}` });
  });

  it('but numbers up to 64 bits are exact, and long keys are kept', () => {
    for (const digits of words(
      '9223372036854775807 9007199254740993 9007199254740992 9007199254740994 1152921504606847000 9223372036854774784',
    )) {
      expect(mapIssue(issue({}, { id: digits })).row.id).toBe(BigInt(digits));
      const text = JSON.stringify(issue({ timespent: 0 }, { id: 0 }))
        .replace('"id":0', `"id":${digits}`)
        .replace('"timespent":0', `"timespent":-${digits}`);
      const exact = { id: BigInt(digits), time_spent_seconds: -BigInt(digits) };
      expect(mapIssue(parseJson(Buffer.from(text))).row).toMatchObject(exact);
    }
    expect(mapIssue(issue({}, { id: 1e16 })).row.id).toBe(10_000_000_000_000_000n);
    expect(mapIssue(issue({}, { key: 'K'.repeat(2600) })).row.key).toHaveLength(2600);
  });
});

describe('keys that name things of JavaScript', () => {
  it('are data only', () => {
    const text = JSON.stringify(issue({ customfield_1: 1 })).replace(
      '"customfield_1":1',
      '"__proto__":{"polluted":true},"constructor":"c","toString":"t","hasOwnProperty":"h","customfield_1":{"__proto__":{"x":1}}',
    );
    const { row } = mapIssue(JSON.parse(text));
    expect(String(row._extra)).toBe(
      '{"__proto__":{"polluted":true},"constructor":"c","toString":"t","hasOwnProperty":"h"}',
    );
    expect(String(row.custom_fields)).toContain('"customfield_1":{"__proto__":{"x":1}}');
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });
});

describe('any JSON', () => {
  const odd = [
    '2020-06-12T08:13:13.360+0800',
    '10063',
    2 ** 60,
    new ExactNumber('1e400'),
    'a\0',
    '\ud800',
    {},
  ];
  const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom<unknown>([], ...odd));
  const some = (keys: readonly string[]) =>
    fc.record(Object.fromEntries(keys.map((key) => [key, anything])), { requiredKeys: [] });
  const users = fc.oneof(anything, some(words('accountId displayName')));

  /** What the transform lets through, the loader can store: a value it refuses fails the test here. */
  const encodable = (table: Table, row: Row): void => {
    const writer = new BinaryWriter();
    for (const [column, type] of Object.entries(table.columns)) {
      const value = row[column];
      if (value === undefined || (value === null && table.key.includes(column)))
        throw new Error(`${table.name}.${column} is ${value}`);
      writer.field(type, value);
    }
  };

  let mappedRows = 0;
  const good = (record: unknown, siteFields = catalogue): void => {
    let mapped: Mapped;
    try {
      mapped = withStorableText(
        { table: issues, children: issueChildren },
        mapIssue(record, siteFields),
      ).mapped;
    } catch (error) {
      expect(error).toBeInstanceOf(BadData);
      expect(error).toMatchObject({ field: expect.any(String) });
      return;
    }
    mappedRows++;
    expect(Object.keys(mapped.row).sort()).toEqual(Object.keys(issues.columns).sort());
    encodable(issues, mapped.row);
    for (const [name, child] of Object.entries(issueChildren))
      for (const row of mapped.children[name] ?? []) encodable(child.table, row);
  };

  it('the mapper gives whole rows or BadData, nothing else', () => {
    fc.assert(
      fc.property(anything, (record) => good(record)),
      { numRuns: 200 },
    );
    const parts = fc.record({
      fields: some([
        ...Object.keys(fields),
        ...words('sprint closedSprints epic other __proto__ customfield_1'),
      ]),
      record: some(words('id key fields changelog names more constructor')),
      author: users,
    });
    fc.assert(
      fc.property(parts, ({ fields: changes, record, author }) => {
        const comments = { comments: [comment('1', { author })] };
        good(issue({ ...changes, reporter: author, comment: comments }, record));
      }),
      { numRuns: 1000 },
    );
  });

  it('the lists within an issue, too', () => {
    const element = some([
      ...words('id name state boardId startDate released releaseDate type outwardIssue inwardIssue author'),
      ...words('created updated started items body comment timeSpentSeconds visibility'),
    ]);
    const list = fc.array(fc.oneof(element, anything), { maxLength: 3 });
    const keys = words('components versions fixVersions issuelinks customfield_10020 closedSprints labels');
    fc.assert(
      fc.property(fc.constantFrom(...keys), list, (key, elements) => {
        good(issue({ [key]: elements }));
        good(issue({ [key]: elements }), noCatalogue);
      }),
      // A record's own `toString` is data, as in the vendor's changelogs.
      { numRuns: 350, examples: [['customfield_10020', [{ id: { toString: null } }]]] },
    );
    fc.assert(
      fc.property(list, anything, (elements, total) => {
        good(issue({ comment: { comments: elements, total }, worklog: { worklogs: elements, total } }));
        good(issue({}, { changelog: { histories: elements, total } }));
      }),
      { numRuns: 350 },
    );
    // Had everything been rejected, this test would prove nothing.
    expect(mappedRows).toBeGreaterThan(250);
  });
});
