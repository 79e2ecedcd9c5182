import { describe, expect, it } from 'vitest';
import { issueOf, sprintOf } from '../../../../../src/connectors/jira/dialects/server-records.ts';

const java = (members: string): string =>
  `com.atlassian.greenhopper.service.sprint.Sprint@1b2c3d[${members}]`;

/** Shapes of recordings of Jira 6 to 9; texts and numbers made up. */
describe('a sprint as Java writes it', () => {
  const started = '2024-03-01T09:00:00.000+01:00';

  it.each([
    [
      'version 8 and newer, its goal last',
      `id=5,rapidViewId=3,state=ACTIVE,name=Sprint, with [brackets] and commas,startDate=${started},endDate=2024-03-15T17:00:00.000+01:00,completeDate=<null>,sequence=5,goal=less, and [better]`,
      { id: '5', boardId: '3', state: 'active', name: 'Sprint, with [brackets] and commas' },
      { startDate: started, endDate: '2024-03-15T17:00:00.000+01:00', completeDate: null },
      { goal: 'less, and [better]' },
    ],
    [
      'version 6, its id last',
      `rapidViewId=142,state=CLOSED,name=07.04 - 24.04,startDate=${started},endDate=${started},completeDate=${started},id=642`,
      { id: '642', boardId: '142', state: 'closed', name: '07.04 - 24.04' },
      { startDate: started, endDate: started, completeDate: started },
      { goal: null },
    ],
    [
      'its goal before its dates, and members of later versions',
      `id=7,rapidViewId=<null>,state=FUTURE,name=Next,goal=,startDate=<null>,endDate=<null>,completeDate=<null>,activatedDate=<null>,sequence=9,autoStartStop=false,synced=false`,
      { id: '7', boardId: null, state: 'future', name: 'Next' },
      { startDate: null, endDate: null, completeDate: null },
      { goal: '' },
    ],
    [
      'a name and a goal like members',
      `id=8,rapidViewId=3,state=CLOSED,name=Plan,id=9,state=ACTIVE,startDate=${started},endDate=<null>,completeDate=<null>,sequence=8,goal=a=b,\nname=c,state=open]`,
      { id: '8', boardId: '3', state: 'closed', name: 'Plan,id=9,state=ACTIVE' },
      { startDate: started, endDate: null, completeDate: null },
      { goal: 'a=b,\nname=c,state=open]' },
    ],
    [
      'by the alphabet, as newer versions write it',
      `activatedDate=${started},autoStartStop=false,completeDate=<null>,endDate=${started},goal=ship, at last,id=11,incompleteIssuesDestinationId=<null>,name=CLM, 21,rapidViewId=98,sequence=11,startDate=${started},state=ACTIVE,synced=false`,
      { id: '11', boardId: '98', state: 'active', name: 'CLM, 21' },
      { startDate: started, endDate: started, completeDate: null },
      { goal: 'ship, at last' },
    ],
    [
      'by the alphabet, a goal and a name like members',
      `autoStartStop=false,completeDate=<null>,endDate=<null>,goal=do,id=3,incompleteIssuesDestinationId=<null>,id=12,name=A,state=CLOSED,rapidViewId=98,sequence=12,startDate=<null>,state=FUTURE,synced=false`,
      { id: '12', boardId: '98', state: 'future', name: 'A,state=CLOSED' },
      { startDate: null, endDate: null, completeDate: null },
      { goal: 'do,id=3' },
    ],
    [
      'hardly any members',
      'id=5,name=Спринт 3,state=ACTIVE',
      { id: '5', boardId: null, state: 'active', name: 'Спринт 3' },
      { startDate: null, endDate: null, completeDate: null },
      { goal: null },
    ],
  ])('is an object: %s', (_, members, ...expected) => {
    expect(sprintOf(java(members))).toEqual(Object.assign({}, ...expected));
  });

  it.each(['Sprint 5', java('name=without an id'), java(''), 'com.example.Sprint@1[id=5]'])(
    'is only what it is: %s stays text',
    (text) => {
      expect(sprintOf(text)).toBeUndefined();
      const record = { id: '1', fields: { customfield_10001: [text], customfield_10002: text } };
      expect(issueOf(record)).toEqual(record);
    },
  );
});

describe('an issue of a server', () => {
  it('has people with an account id in its custom fields, and whatever else it had', () => {
    const ada = { key: 'JIRAUSER10100', name: 'ada', displayName: 'Ada Example', active: true };
    const option = { self: 'https://jira.example.test/x', value: 'Red', id: '1' };
    expect(
      issueOf({
        id: '1',
        key: 'ABC-1',
        fields: { assignee: ada, customfield_1: ada, customfield_2: [ada], customfield_3: option },
      }),
    ).toEqual({
      id: '1',
      key: 'ABC-1',
      fields: {
        assignee: ada,
        customfield_1: { ...ada, accountId: 'JIRAUSER10100' },
        customfield_2: [{ ...ada, accountId: 'JIRAUSER10100' }],
        customfield_3: option,
      },
    });
  });

  it.each([
    ['Fix Version', 'jira', 'fixVersions'],
    ['Key', 'jira', 'issuekey'],
    ['status', 'jira', undefined],
    // A custom field may be called like one of the server's own.
    ['Version', 'custom', undefined],
  ])('has changes with the id of the field: %s of %s', (field, fieldtype, fieldId) => {
    const item = { field, fieldtype, from: '1', fromString: 'one', to: '2', toString: 'two' };
    const changelog = { startAt: 0, maxResults: 1, total: 1, histories: [{ id: '7', items: [item] }] };
    const expected = { ...item, ...(fieldId !== undefined && { fieldId }) };
    expect(issueOf({ id: '1', changelog })).toEqual({
      id: '1',
      changelog: { ...changelog, histories: [{ id: '7', items: [expected] }] },
    });
  });

  it.each([
    null,
    'text',
    [],
    { fields: null, changelog: [] },
    { changelog: { histories: [null, { items: 'none' }, { items: [null, 'x', { field: 5 }] }] } },
  ])('that is none stays as it came: %j', (record) => {
    expect(issueOf(record)).toEqual(record);
  });
});
