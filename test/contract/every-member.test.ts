import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { sources } from '../../docs/generate.ts';
import { detailsIn } from '../../src/connectors/dagu/dialects/v2.ts';
import { dagIn, runIn } from '../../src/connectors/dagu/transform.ts';
import { issueMapper } from '../../src/connectors/jira/transform/issue.ts';
import type { Slice, Stream } from '../../src/core/stream.ts';
import { csvLine } from '../support/csv-line.ts';
import { catalogue, walks } from '../unit/connectors/jira/transform/issue-record.ts';
import { Leaf, lostBy, type Members, type Pattern, patternLike, patternOf, type Schema } from './members.ts';

const subset = (name: string) => {
  const file = path.join(import.meta.dirname, '../unit/simulators', name, 'openapi.subset.json');
  return JSON.parse(fs.readFileSync(file, 'utf8'));
};
const jira = subset('jira');
const ads = subset('spotify-ads');
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** Members that count of records within other records: the rest comes with a stream of their own. */
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
const tracker = (schema: Schema | string): Members =>
  patternOf(jira.components.schemas, typeof schema === 'string' ? ref(schema) : schema, elsewhere);
const platform = (name: string): Members => patternOf(ads.components.schemas, ref(name));

const types: Readonly<Record<string, Schema>> = {
  text: { type: 'string' },
  texts: { items: { type: 'string' } },
  number: { type: 'number' },
  whole: { type: 'integer' },
  day: { type: 'string', format: 'date' },
  instant: { type: 'string', format: 'date-time' },
};
/** The document says of an issue's `fields` only that it is an object. `name:Schema`, `name:[Schema]` or `name:type`. */
const issueFields: Schema = {
  properties: Object.fromEntries(
    `project:ProjectDetails issuetype:IssueTypeDetails status:StatusDetails priority:Priority
     resolution:Resolution parent:LinkedIssue assignee:UserDetails reporter:UserDetails creator:UserDetails
     summary:text description:text environment:text labels:texts components:[ProjectComponent]
     fixVersions:[Version] versions:[Version] security:SecurityLevel duedate:day created:instant
     updated:instant resolutiondate:instant statuscategorychangedate:instant votes:Votes watches:Watchers
     timeoriginalestimate:whole timeestimate:whole timespent:whole timetracking:TimeTrackingDetails
     customfield_10016:number customfield_10014:text customfield_10050:UserDetails`
      .split(/\s+/)
      .map((field) => {
        const [name = '', of = ''] = field.split(':');
        return [name, types[of] ?? (of.startsWith('[') ? { items: ref(of.slice(1, -1)) } : ref(of))];
      }),
  ),
};
const sprint = jira.examples['/rest/agile/1.0/sprint/{sprintId}'];
const link = (missing: string): Pattern => ({ ...tracker('IssueLink'), [missing]: null });
/** A list that came whole. */
const whole = { startAt: 0, maxResults: 5, total: 1 };
const ofSprint = { id: 1, name: 'S', state: 'active', boardId: 2, goal: 'g' };
const option = () => ({ value: new Leaf(), id: new Leaf() });
const issue = (): Pattern => ({
  ...tracker('IssueBean'),
  fields: {
    ...tracker(issueFields),
    issuelinks: [link('outwardIssue'), link('inwardIssue')],
    comment: { ...whole, comments: [tracker('Comment')] },
    worklog: { ...whole, worklogs: [{ ...tracker('Worklog'), issueId: null }] },
    customfield_10020: [patternLike({ ...ofSprint, startDate: '2020-01-01T00:00:00Z' })],
    // What servers with the agile API's fields add.
    epic: patternLike({ id: 1, key: 'PROJ-1', name: 'e', done: true }),
    closedSprints: [patternLike(sprint)],
    customfield_10030: { ...option(), child: option() },
  },
  changelog: { ...whole, histories: [tracker('Changelog')] },
});
const board: Schema = jira.paths['/rest/agile/1.0/board'].get.responses['200'].properties.values.items;

const namesIn = (name: string): readonly string[] => ads.components.schemas[name].enum;
const stats = (): Pattern =>
  [...namesIn('ReportFieldType'), 'A_NEW_ONE'].map((field_type) => ({
    field_type,
    field_value: new Leaf('number'),
  }));
/** A row of the level and the time that were requested; others are rejected. */
const reportRow = (end_time: string): Pattern => ({
  ...platform('AggregateReportRow'),
  entity_type: 'AD',
  start_time: '2026-01-01T00:00:00Z',
  end_time,
  stats: stats(),
});
const insight = (): Pattern => ({
  entity_type: new Leaf(),
  entity_id: new Leaf(),
  dimension: new Leaf(),
  code: new Leaf(),
  asked_on: new Leaf('date'),
  state: 'ok',
  rows: [{ ...platform('AudienceInsightReportRow'), stats: stats() }],
});
/** As the reader of totals makes it: of an answer it takes the numbers that it asked for. */
const total = {
  entity_type: 'CAMPAIGN',
  entity_id: 'c',
  period: 'MONTH',
  asked_on: '2026-01-02',
  period_start: '2026-01-01',
  period_end: '2026-01-31',
  IMPRESSIONS: 2,
  CLICKS: 1,
  REACH: 1,
  FREQUENCY: 2,
};
/** As the reader of names makes it of what a list gives. */
const target = (name: string): Pattern => ({
  dimension: new Leaf(),
  asked_on: new Leaf('date'),
  ...platform(name),
});
const csvRow = (): Pattern => ({
  DAY: '2026-01-01',
  ...Object.fromEntries(
    ['AsyncReportDimension', 'AsyncReportMetric'].flatMap(namesIn).map((name) => [name, new Leaf()]),
  ),
  'A new one': new Leaf(),
});

/** Records of Dagu 1.30.2 and 2.6.5. */
const at = '2026-01-01T00:00:00Z';
const times = { startedAt: at, finishedAt: at };
const done = { status: 4, statusLabel: 'succeeded', ...times };
const dag = {
  fileName: 'f',
  dag: { name: 'd', group: 'g', schedule: [{ expression: '0 1 * * *' }], description: 'a', params: ['A=1'] },
  tags: ['t'],
  labels: ['l'],
  suspended: false,
  errors: ['e'],
  workspace: 'w',
  nextRun: at,
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
  step,
  ...done,
  retryCount: 1,
  doneCount: 1,
  stdout: '/o',
  stderr: '/e',
  error: 'no',
  subRuns: [{ dagRunId: 'x', params: 'p' }],
  approvedBy: 'a',
};
const dagRun = {
  dagRunId: 'r',
  name: 'd',
  ...done,
  params: 'A=1',
  log: '/l',
  queuedAt: at,
  scheduleTime: at,
  workerId: 'w',
  triggerType: 't',
  labels: ['l'],
  rootDAGRunName: 'd',
  rootDAGRunId: 'r',
  parentDAGRunName: 'd',
  parentDAGRunId: 'r',
  autoRetryCount: 1,
  error: 'no',
  preconditions: [{ condition: 'c', expected: 'e' }],
  nodes: [node],
  onExit: node,
};

/** The document types the times of a draft as text; its example has instants. */
const flight = { start_time: new Leaf('date-time'), end_time: new Leaf('date-time') };
/** The records of each stream, in each form in which servers send them. */
const records: Readonly<Record<string, readonly Pattern[]>> = {
  fields: [tracker('Field'), tracker('FieldDetails')],
  projects: [tracker('Project')],
  statuses: [tracker('StatusDetails')],
  issue_types: [tracker('IssueTypeDetails')],
  priorities: [tracker('Priority')],
  users: [tracker('User')],
  groups: [tracker('GroupDetails')],
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
  ad_set_drafts: [{ ...platform('AdSetDraft'), ...flight }],
  ad_drafts: [platform('AdDraft')],
  change_history: [platform('ChangeHistoryRow')],
  report_daily: [reportRow('2026-01-02T00:00:00Z')],
  report_hourly: [reportRow('2026-01-01T01:00:00Z')],
  report_lifetime: [reportRow('2026-01-02T00:00:00Z')],
  report_totals: [patternLike(total)],
  target_names: ['GeoTarget', 'InterestWithSubtargets', 'ContentPromotionBase'].map(target),
  async_reports: [csvRow()],
  insight_reports: [insight()],
  dags: [patternLike(dag)],
  dag_runs: [patternLike({ dagRunDetails: dagRun })],
};

/** Relations consist of two ids; each side has a stream of its own. */
const relations = ['group_members', 'board_sprints', 'sprint_issues'];

const parent = [[/^parent_entity\.(name|status)$/, 'in the streams of campaigns and ad sets']] as const;
/** Members that are left out, and why, by stream; `*`: of every one. */
const leftOut: Readonly<Record<string, readonly (readonly [members: RegExp, why: string])[]>> = {
  '*': [
    [/(^|\.)self$/, 'an address made of the id'],
    [/(^|\.)(avatar\w*|iconUrl|statusColor)(\.|$)/i, 'how it is drawn'],
    [/(^|\.)expand$/, 'what could have been requested'],
  ],
  fields: [
    [/^(key|schema\.customId|schema\.system)$/, 'repeats the id'],
    [/^(lastUsed\..*|screensCount|contextsCount|projectsCount)$/, 'its use, which changes without the field'],
    [/^(orderable|navigable|searchable|clauseNames\.\d+)$/, 'about lists and searches of the tracker'],
  ],
  projects: [
    [/^(uuid|simplified)$/, 'repeats the id and the style'],
    [/^(insight|properties)(\.|$)/, 'only on request'],
  ],
  issue_types: [[/^entityId$/, 'another id of the same']],
  priorities: [[/^schemes$/, 'only on request']],
  users: [[/^groups$/, 'in the stream group_members']],
  boards: [
    [/^(canEdit|favourite)$/, 'about the caller'],
    [/^location\.(project\w+|name|displayName)$/, 'in the stream projects'],
  ],
  issues: [
    [/^(editmeta|operations|transitions)/, 'what the caller may do'],
    [/^(names|schema)\./, 'in the stream fields'],
    [/^(renderedFields|versionedRepresentations)\.|^fieldsToInclude$|\.renderedBody$/, 'repeats the fields'],
    [/^fields\.parent\.key$|^fields\.epic\.(?!id$|key$)/, 'of another issue'],
    [/^fields\.closedSprints\.0\.newIn/, 'in the stream sprints'],
    [/^fields\.resolution\.description$/, 'the same on each issue'],
    [/^fields\.(components|fixVersions|versions)\.0\.project(Id)?$/, 'the project of the issue'],
    [/^fields\.components\.0\.(real\w+|isAssigneeTypeValid)/, 'follows from the kind of assignee'],
    [/^fields\.(fixV|v)ersions\.0\.(user\w+Date|overdue)$/, 'follows from the dates'],
    [/^fields\.(votes\.hasVoted|watches\.isWatching)$/, 'about the caller'],
    [/^fields\.timetracking\.\w+(Estimate|Spent)(Seconds)?$|\.timeSpent$/, 'repeats the seconds'],
    [/^fields\.customfield_10030\.(child\.)?id$/, 'the column holds options by their labels'],
  ],
  report_daily: parent,
  report_hourly: parent,
  report_lifetime: parent,
  target_names: [
    [/^images\./, 'how it is drawn'],
    [/^subtargets\./, 'rows of their own'],
  ],
  insight_reports: [[/^rows\.0\.(id|name|status)$/, 'of the campaign or ad set that was requested']],
  dags: [[/^latestDAGRun\.(dagRunId$|newIn)/, 'in the stream dag_runs']],
  dag_runs: [[/^dagRunDetails\.name$/, 'the DAG whose runs were requested']],
};

const slice: Slice = {
  partition: { ad_account_id: '1', entity_type: 'AD' },
  window: { field: 'day', from: new Date(0) },
};

/** How a record of the server becomes rows, reading included. */
const wayOf = ({ name, transform }: Stream): ((record: unknown) => ReturnType<Stream['transform']>) => {
  const ways: Readonly<Record<string, (record: unknown) => ReturnType<Stream['transform']>>> = {
    issues: (record) => issueMapper(catalogue, () => walks)(record, slice),
    async_reports: (record) => transform(csvLine(record as Readonly<Record<string, string>>), slice),
    dags: (record) => transform(dagIn(record), slice),
    dag_runs: (record) => transform(runIn({ ...detailsIn(record), name: 'd' }), slice),
  };
  return ways[name] ?? ((record) => transform(record, slice));
};

const streams = sources().flatMap(({ source }) => source.streams);
const lostOf = (stream: Stream): readonly string[] =>
  (records[stream.name] ?? []).flatMap((pattern) => lostBy(wayOf(stream), pattern));

test('every stream is checked', () => {
  expect(streams.map(({ name }) => name).sort()).toEqual([...Object.keys(records), ...relations].sort());
});

test.each(streams.map((stream) => [stream.name, stream] as const))(
  '%s: no member of a record, old or new, is lost without a reason',
  (name, stream) => {
    const reasons = [...(leftOut['*'] ?? []), ...(leftOut[name] ?? [])];
    const isExcused = (member: string): boolean => reasons.some(([members]) => members.test(member));
    expect(lostOf(stream).filter((member) => !isExcused(member))).toEqual([]);
  },
);

test('every reason is needed', () => {
  const lost = streams.map((stream) => [stream.name, lostOf(stream)] as const);
  const idle = Object.entries(leftOut).flatMap(([of, reasons]) => {
    const found = lost.flatMap(([stream, members]) => (of === '*' || of === stream ? members : []));
    return reasons.filter(([members]) => !found.some((member) => members.test(member)));
  });
  expect(idle).toEqual([]);
});

test('a lost member is found', () => {
  const pattern = patternLike({ id: 1, kept: 'a', lost: { within: true } });
  const via = (record: unknown) => ({ row: { kept: String(Object(record).kept) }, children: {} });
  expect(lostBy(via, pattern)).toEqual(['id', 'lost.within', 'lost.newIn_lost', 'newIn_record']);
});
