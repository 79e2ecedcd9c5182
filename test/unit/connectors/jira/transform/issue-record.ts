/** An issue as the vendor's search gives it (recorded shapes of Jira Cloud's API v3), and how to change parts of it. */

import type { Catalogue } from '../../../../../src/connectors/jira/transform/field-catalogue.ts';
import { issueMapper } from '../../../../../src/connectors/jira/transform/issue.ts';
import type { Mapped, PageWalk } from '../../../../../src/core/stream.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const ann = {
  self: 'https://example.atlassian.net/rest/api/3/user?accountId=5b10ac8d82e05b22cc7d4ef5',
  accountId: '5b10ac8d82e05b22cc7d4ef5',
  accountType: 'atlassian',
  active: true,
  avatarUrls: { '48x48': 'https://avatar.example/48' },
  displayName: 'Ann',
  timeZone: 'Asia/Shanghai',
};

export const bob = { ...ann, accountId: '557058:f58131cb-b67d-43c7-b30d-6b58d40bd077', displayName: 'Bob' };

export const paragraph = (text: string) => ({
  type: 'doc',
  version: 1,
  content: [{ type: 'paragraph', content: [{ type: 'text', text }] }],
});

export const history = (id: string, items: readonly unknown[], more: Fields = {}) => ({
  id,
  author: ann,
  created: '2020-06-12T08:13:13.360+0800',
  items,
  ...more,
});

export const comment = (id: string, more: Fields = {}) => ({
  self: `https://example.atlassian.net/rest/api/3/issue/10063/comment/${id}`,
  id,
  author: ann,
  updateAuthor: bob,
  body: paragraph(`comment ${id}`),
  created: '2020-06-13T08:00:00.000+0800',
  updated: '2020-06-13T09:00:00.000+0800',
  ...more,
});

export const worklog = (id: string, more: Fields = {}) => ({
  id,
  issueId: '10063',
  author: ann,
  updateAuthor: ann,
  comment: paragraph('worked'),
  created: '2020-06-14T08:00:00.000+0800',
  updated: '2020-06-14T08:00:00.000+0800',
  started: '2020-06-14T07:00:00.000+0800',
  timeSpent: '1h 20m',
  timeSpentSeconds: 4800,
  ...more,
});

export const fields: Fields = {
  project: { id: '10003', key: 'PROJ', name: 'Project', projectTypeKey: 'software' },
  issuetype: { id: '10004', name: '任务', subtask: false, hierarchyLevel: 0 },
  status: { id: '10022', name: '进行中', statusCategory: { id: 4, key: 'indeterminate', name: '进行中' } },
  priority: { id: '3', name: 'Medium' },
  resolution: { id: '10000', name: 'Done' },
  parent: {
    id: '10001',
    key: 'PROJ-1',
    fields: { summary: 'Epic', issuetype: { id: '10000', name: 'Epic', hierarchyLevel: 1 } },
  },
  assignee: ann,
  reporter: bob,
  creator: bob,
  summary: 'Something is wrong',
  description: paragraph('It does not work.'),
  environment: null,
  labels: ['backend', 'urgent'],
  components: [
    { id: '10010', name: 'API', self: 'https://example.atlassian.net/rest/api/3/component/10010' },
  ],
  fixVersions: [{ id: '10100', name: '1.0', released: true, archived: false, releaseDate: '2020-07-01' }],
  versions: [{ id: '10099', name: '0.9', released: true, archived: true }],
  issuelinks: [
    {
      id: '10200',
      outwardIssue: { id: '10064', key: 'PROJ-8', fields: { summary: 'other' } },
      type: { id: '10000', name: 'Blocks', inward: 'is blocked by', outward: 'blocks' },
    },
    {
      id: '10201',
      inwardIssue: { id: '10065', key: 'OTHER-9' },
      type: { id: '10003', name: 'Relates', inward: 'relates to', outward: 'relates to' },
    },
  ],
  security: { id: '1', name: 'Internal' },
  duedate: '2020-06-30',
  created: '2020-06-12T08:13:13.360+0800',
  updated: '2020-06-20T10:00:00.001+0800',
  resolutiondate: '2020-06-19T23:59:59.999-0330',
  statuscategorychangedate: '2020-06-19T10:00:00.000+0800',
  timeoriginalestimate: 28_800,
  timeestimate: 3600,
  timespent: null,
  timetracking: { timeSpentSeconds: 25_200 },
  aggregatetimespent: 25_200,
  workratio: 87,
  lastViewed: '2020-06-21T10:00:00.000+0800',
  votes: { votes: 2, hasVoted: false },
  watches: { watchCount: 3, isWatching: true },
  subtasks: [],
  customfield_10016: 5,
  customfield_10020: [
    {
      id: 7,
      name: 'Sprint 7',
      state: 'active',
      boardId: 2,
      goal: 'ship',
      startDate: '2020-06-12T00:38:00.000Z',
      endDate: '2020-06-26T00:38:00.000Z',
    },
  ],
  customfield_10030: null,
  comment: { comments: [comment('10300')], maxResults: 1, total: 1, startAt: 0 },
  worklog: { startAt: 0, maxResults: 20, total: 1, worklogs: [worklog('10400')] },
};

export const changelog = {
  startAt: 0,
  maxResults: 2,
  total: 2,
  histories: [
    history('10501', [
      {
        field: 'status',
        fieldtype: 'jira',
        fieldId: 'status',
        from: '10021',
        fromString: '待办',
        to: '10022',
        toString: '进行中',
      },
      {
        field: 'resolution',
        fieldtype: 'jira',
        fieldId: 'resolution',
        from: null,
        fromString: null,
        to: '10000',
      },
    ]),
    history('10500', [
      { field: 'Key', fieldtype: 'jira', from: null, fromString: 'OLD-3', to: null, toString: 'PROJ-7' },
    ]),
  ],
};

export const issue = (changes: Fields = {}, record: Fields = {}) => ({
  expand: 'operations,changelog',
  id: '10063',
  self: 'https://example.atlassian.net/rest/api/3/issue/10063',
  key: 'PROJ-7',
  fields: { ...fields, ...changes },
  changelog,
  ...record,
});

/** The record without some of its fields. */
export const without = (...keys: readonly string[]) => ({
  ...issue(),
  fields: Object.fromEntries(Object.entries(fields).filter(([key]) => !keys.includes(key))),
});

export const walk = (name: string): PageWalk => ({
  first: { method: 'GET', path: `/${name}`, endpoint: `/${name}` },
  paging: { next: () => undefined, total: () => undefined },
  list: () => [],
  id: () => '',
});

export const walks = { changelog: walk('changelog'), comments: walk('comments'), worklogs: walk('worklogs') };

export const catalogue: Catalogue = {
  fieldsById: new Map(),
  byRole: new Map([
    ['story_points', ['customfield_10016', 'customfield_10026']],
    ['sprint', ['customfield_10020']],
    ['epic_link', ['customfield_10014']],
    ['start_date', ['customfield_10015']],
    ['flagged', ['customfield_10021']],
    ['team', ['customfield_10001']],
  ]),
  customByName: new Map(),
};

export const mapIssue = (record: unknown, siteFields: Catalogue = catalogue): Mapped =>
  issueMapper(siteFields, () => walks)(record, {});
