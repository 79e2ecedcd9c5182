import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { sources } from '../../docs/generate.ts';
import { detailsIn } from '../../src/connectors/dagu/client.ts';
import { dagIn, runIn } from '../../src/connectors/dagu/transform.ts';
import { issueMapper } from '../../src/connectors/jira/transform/issue.ts';
import { isObject } from '../../src/core/record-object.ts';
import type { Slice, Stream } from '../../src/core/stream.ts';
import { csvLine } from '../support/csv-line.ts';
import {
  Leaf,
  lostBy,
  type Members,
  type Pattern,
  patternLike,
  patternOf,
  type Schema,
  type Schemas,
} from '../support/every-member.ts';
import { catalogue, walks } from '../unit/connectors/jira/transform/issue-record.ts';

const subset = (name: string) =>
  JSON.parse(
    fs.readFileSync(
      path.join(import.meta.dirname, '../unit/simulators', name, 'openapi.subset.json'),
      'utf8',
    ),
  );
const jira = subset('jira');
const ads = subset('spotify-ads');
const schemasOf = (document: { readonly components: { readonly schemas: Schemas } }): Schemas =>
  document.components.schemas;
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** Records of the tracker that other records contain: a stream tells the rest of them. */
const elsewhere = {
  AvatarUrlsBean: [],
  User: ['accountId'],
  UserDetails: ['accountId'],
  ProjectDetails: ['id'],
  StatusDetails: ['id', 'name', 'statusCategory'],
  StatusCategory: ['key'],
  IssueTypeDetails: ['id', 'name', 'subtask'],
  Priority: ['id', 'name'],
  LinkedIssue: ['id', 'key'],
};
const tracker = (schema: Schema): Members => patternOf(schemasOf(jira), schema, elsewhere);
const platform = (name: string): Members => patternOf(schemasOf(ads), ref(name));

const text: Schema = { type: 'string' };
const whole: Schema = { type: 'integer' };
const day: Schema = { type: 'string', format: 'date' };
const instant: Schema = { type: 'string', format: 'date-time' };
const list = (name: string): Schema => ({ items: ref(name) });

/** The document says of `fields` no more than that it is an object; what is in it has schemas for all that. */
const issueFields: Schema = {
  properties: {
    ...{ project: ref('ProjectDetails'), issuetype: ref('IssueTypeDetails'), status: ref('StatusDetails') },
    ...{ priority: ref('Priority'), resolution: ref('Resolution'), parent: ref('LinkedIssue') },
    ...{ assignee: ref('UserDetails'), reporter: ref('UserDetails'), creator: ref('UserDetails') },
    ...{ summary: text, description: text, environment: text, labels: { items: text } },
    ...{ components: list('ProjectComponent'), fixVersions: list('Version'), versions: list('Version') },
    ...{
      security: ref('SecurityLevel'),
      duedate: day,
      created: instant,
      updated: instant,
      resolutiondate: instant,
    },
    ...{ statuscategorychangedate: instant, votes: ref('Votes'), watches: ref('Watchers') },
    ...{
      timeoriginalestimate: whole,
      timeestimate: whole,
      timespent: whole,
      timetracking: ref('TimeTrackingDetails'),
    },
    ...{
      customfield_10016: { type: 'number' },
      customfield_10014: text,
      customfield_10050: ref('UserDetails'),
    },
  },
};
const sprint = jira.examples['/rest/agile/1.0/sprint/{sprintId}'];
const issueLink = (end: 'inwardIssue' | 'outwardIssue'): Pattern => ({
  ...tracker(ref('IssueLink')),
  [end === 'inwardIssue' ? 'outwardIssue' : 'inwardIssue']: null,
});
/** A list that is there to its end. */
const delivered = { startAt: 0, maxResults: 5, total: 1 };
const issue = (): Pattern => ({
  ...tracker(ref('IssueBean')),
  fields: {
    ...tracker(issueFields),
    issuelinks: [issueLink('inwardIssue'), issueLink('outwardIssue')],
    comment: { ...delivered, comments: [tracker(ref('Comment'))] },
    worklog: { ...delivered, worklogs: [{ ...tracker(ref('Worklog')), issueId: null }] },
    customfield_10020: [
      patternLike({
        id: 1,
        name: 'S',
        state: 'active',
        boardId: 2,
        goal: 'g',
        startDate: '2020-01-01T00:00:00Z',
      }),
    ],
    // What servers with the agile API's fields add.
    epic: patternLike({ id: 1, key: 'PROJ-1', name: 'e', done: true }),
    closedSprints: [patternLike(sprint)],
    customfield_10030: { value: new Leaf(), id: new Leaf(), child: { value: new Leaf(), id: new Leaf() } },
  },
  changelog: { ...delivered, histories: [tracker(ref('Changelog'))] },
});

const board: Schema = jira.paths['/rest/agile/1.0/board'].get.responses['200'].properties.values.items;

const namesIn = (name: string): readonly string[] => ads.components.schemas[name].enum;
const stats = (): Pattern =>
  [...namesIn('ReportFieldType'), 'NOT_YET_KNOWN'].map((field_type) => ({
    field_type,
    field_value: new Leaf('number'),
  }));
/** What a row is about and for what time was asked for: a row of another level or of longer is rejected. */
const reportRow = (end_time: string): Pattern => ({
  ...platform('AggregateReportRow'),
  ...{ entity_type: 'AD', start_time: '2026-01-01T00:00:00Z', end_time, stats: stats() },
});
const insight = (): Pattern => ({
  ...{
    entity_type: new Leaf(),
    entity_id: new Leaf(),
    dimension: new Leaf(),
    asked_on: new Leaf('date'),
    state: 'ok',
  },
  code: new Leaf(),
  rows: [{ ...platform('AudienceInsightReportRow'), stats: stats() }],
});
const csvRow = (): Pattern => ({
  DAY: '2026-01-01',
  ...Object.fromEntries(
    [...namesIn('AsyncReportDimension'), ...namesIn('AsyncReportMetric'), 'Not yet known'].map((name) => [
      name,
      new Leaf(),
    ]),
  ),
});

/** As the vendor's 1.30.2 and 2.6.5 tell them. */
const at = '2026-01-01T00:00:00Z';
const told = { dagRunId: 'r', name: 'd', status: 4, statusLabel: 'succeeded', startedAt: at, finishedAt: at };
const dag = {
  fileName: 'f',
  dag: { name: 'd', group: 'g', schedule: [{ expression: '0 1 * * *' }], description: 'a', params: ['A=1'] },
  ...{ tags: ['t'], labels: ['l'], suspended: false, errors: ['e'], workspace: 'w', nextRun: at },
  latestDAGRun: { dagRunId: 'r' },
};
const step = {
  name: 's',
  description: 'd',
  commands: [{ command: 'c', args: ['a'] }],
  depends: ['o'],
  output: 'O',
  timeoutSec: 1,
};
const node = {
  ...{
    step,
    status: 4,
    statusLabel: 'succeeded',
    startedAt: at,
    finishedAt: at,
    retryCount: 1,
    doneCount: 1,
  },
  ...{ stdout: '/o', stderr: '/e', error: 'no', subRuns: [{ dagRunId: 'x', params: 'p' }], approvedBy: 'a' },
};
const dagRun = {
  ...{
    ...told,
    params: 'A=1',
    log: '/l',
    queuedAt: at,
    scheduleTime: at,
    workerId: 'w',
    triggerType: 't',
    labels: ['l'],
  },
  ...{
    rootDAGRunName: 'd',
    rootDAGRunId: 'r',
    parentDAGRunName: 'd',
    parentDAGRunId: 'r',
    autoRetryCount: 1,
  },
  ...{ error: 'no', preconditions: [{ condition: 'c', expected: 'e' }], nodes: [node], onExit: node },
};

/** What each stream is given, by its name; several where servers give it in several ways. */
const records: Readonly<Record<string, readonly Pattern[]>> = {
  fields: [tracker(ref('Field')), tracker(ref('FieldDetails'))],
  projects: [tracker(ref('Project'))],
  statuses: [tracker(ref('StatusDetails'))],
  issue_types: [tracker(ref('IssueTypeDetails'))],
  priorities: [tracker(ref('Priority'))],
  users: [tracker(ref('User'))],
  groups: [tracker(ref('GroupDetails'))],
  boards: [tracker(board)],
  issues: [issue()],
  sprints: [patternLike(sprint)],
  businesses: [platform('BusinessResponse')],
  ad_accounts: [platform('AdAccountResponse')],
  ad_categories: [platform('AdCategory')],
  campaigns: [platform('CampaignResponse')],
  ads: [platform('AdResponse')],
  ad_sets: [platform('AdSetResponse')],
  assets: [platform('AssetResponse')],
  audiences: [platform('AudienceResponse')],
  campaign_drafts: [platform('CampaignDraft')],
  // The document gives the type of its times as text; its example has instants.
  ad_set_drafts: [
    { ...platform('AdSetDraft'), start_time: new Leaf('date-time'), end_time: new Leaf('date-time') },
  ],
  ad_drafts: [platform('AdDraft')],
  change_history: [platform('ChangeHistoryRow')],
  report_daily: [reportRow('2026-01-02T00:00:00Z')],
  report_hourly: [reportRow('2026-01-01T01:00:00Z')],
  report_lifetime: [reportRow('2026-01-02T00:00:00Z')],
  async_reports: [csvRow()],
  insight_reports: [insight()],
  dags: [patternLike(dag)],
  dag_runs: [patternLike({ dagRunDetails: dagRun })],
};

/** Relations: that two belong together is all that there is of them, and a stream of its own tells of each. */
const relations = ['group_members', 'board_sprints', 'sprint_issues'];

/** What is left out, and why, by stream; `*`: of every one. */
const leftOut: Readonly<Record<string, readonly (readonly [members: RegExp, why: string])[]>> = {
  '*': [
    [/(^|\.)self$/, 'where the server has it: made of its id'],
    [/(^|\.)(avatar\w*|iconUrl|statusColor)(\.|$)/i, 'how it is painted'],
    [/(^|\.)expand$/, 'what could have been asked for'],
  ],
  fields: [
    [/^(key|schema\.customId|schema\.system)$/, 'the id of the field once more'],
    [/^(lastUsed\..*|screensCount|contextsCount|projectsCount)$/, 'its use, which changes without the field'],
    [
      /^(orderable|navigable|searchable|clauseNames\.\d+)$/,
      'what the lists and searches of the tracker do with it',
    ],
  ],
  projects: [
    [/^(uuid|simplified)$/, 'said by the id and by the style'],
    [/^(insight|properties)(\.|$)/, 'given only where it is asked for'],
  ],
  issue_types: [[/^entityId$/, 'another id of the same']],
  priorities: [[/^schemes$/, 'given only where it is asked for']],
  users: [[/^groups$/, 'told by the stream group_members']],
  boards: [
    [/^(canEdit|favourite)$/, 'about the caller'],
    [/^location\.(project\w+|name|displayName)$/, 'told of the project by the stream projects'],
  ],
  issues: [
    [/^(editmeta|operations|transitions)/, 'what the caller may do'],
    [/^(names|schema)\./, 'told by the stream fields'],
    [
      /^(renderedFields|versionedRepresentations)\.|^fieldsToInclude$|\.renderedBody$/,
      'the fields once more',
    ],
    [/^fields\.parent\.key$/, 'told of the parent, which is an issue of its own'],
    [/^fields\.epic\.(?!id$|key$)/, 'told of the epic, which is an issue of its own'],
    [/^fields\.closedSprints\.0\.newIn/, 'told by the stream sprints'],
    [/^fields\.resolution\.description$/, 'what the resolution means in general: the same on each issue'],
    [/^fields\.(components|fixVersions|versions)\.0\.project(Id)?$/, 'the project of the issue'],
    [
      /^fields\.components\.0\.(real\w+|isAssigneeTypeValid)/,
      'follows from the kind of assignee and who leads',
    ],
    [/^fields\.(fixV|v)ersions\.0\.(user\w+Date|overdue)$/, 'follows from the dates'],
    [/^fields\.(votes\.hasVoted|watches\.isWatching)$/, 'about the caller'],
    [
      /^fields\.timetracking\.\w+(Estimate|Spent)(Seconds)?$|\.timeSpent$/,
      'the seconds that stand beside it',
    ],
    [/^fields\.customfield_10030\.(child\.)?id$/, 'the column says that it holds options by their labels'],
  ],
  report_daily: [[/^parent_entity\.(name|status)$/, 'told by the streams of campaigns and ad sets']],
  report_hourly: [[/^parent_entity\.(name|status)$/, 'told by the streams of campaigns and ad sets']],
  report_lifetime: [[/^parent_entity\.(name|status)$/, 'told by the streams of campaigns and ad sets']],
  insight_reports: [[/^rows\.0\.(id|name|status)$/, 'of the campaign or ad set that was asked for']],
  dags: [[/^latestDAGRun\.(dagRunId$|newIn)/, 'told by the stream dag_runs']],
  dag_runs: [[/^dagRunDetails\.name$/, 'the DAG whose runs were asked for']],
};

const slice: Slice = {
  partition: { ad_account_id: '1', entity_type: 'AD' },
  window: { field: 'day', from: new Date(0) },
};

/** How a record of the server's becomes rows, with what reading does to it on the way. */
const wayOf = ({ name, transform }: Stream): ((record: unknown) => ReturnType<Stream['transform']>) => {
  const ways: Readonly<Record<string, (record: unknown) => ReturnType<Stream['transform']>>> = {
    issues: (record) => issueMapper(catalogue, () => walks)(record, slice),
    async_reports: (record) => transform(csvLine(record as Readonly<Record<string, string>>), slice),
    dags: (record) => transform(dagIn(record), slice),
    dag_runs: (record) => transform(runIn(detailsIn(record), 'd'), slice),
  };
  return ways[name] ?? ((record) => transform(record, slice));
};

const flows = sources().flatMap(({ source }) => source.streams);
const lostBetween = (flow: Stream): readonly string[] =>
  (records[flow.name] ?? []).flatMap((pattern) => lostBy(wayOf(flow), pattern));
const reasonsOf = (stream: string) => [...(leftOut['*'] ?? []), ...(leftOut[stream] ?? [])];

test('every stream is looked at', () => {
  expect(flows.map(({ name }) => name).sort()).toEqual([...Object.keys(records), ...relations].sort());
});

test.each(flows.map((flow) => [flow.name, flow] as const))(
  '%s: no member of a record is lost without a reason, nor one that nobody knows yet',
  (stream, flow) => {
    const reasons = reasonsOf(stream);
    expect(lostBetween(flow).filter((member) => !reasons.some(([members]) => members.test(member)))).toEqual(
      [],
    );
  },
);

test('nothing is said to be left out that is not', () => {
  const lost = flows.map((flow) => [flow.name, lostBetween(flow)] as const);
  const idle = Object.entries(leftOut).flatMap(([of, reasons]) => {
    const found = lost.flatMap(([stream, members]) => (of === '*' || of === stream ? members : []));
    return reasons.flatMap(([members, why]) =>
      found.some((member) => members.test(member)) ? [] : [`${of}: ${why}`],
    );
  });
  expect(idle).toEqual([]);
});

test('a member that is lost would be noticed', () => {
  const pattern = patternLike({ id: 1, kept: 'a', lost: { within: true } });
  const via = (record: unknown) => ({
    row: { kept: isObject(record) ? String(record.kept) : null },
    children: {},
  });
  expect(lostBy(via, pattern)).toEqual(['id', 'lost.within', 'lost.newIn_lost', 'newIn_record']);
});
