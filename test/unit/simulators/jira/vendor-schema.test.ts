import fs from 'node:fs';
import path from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, expect, test } from 'vitest';
import { startTracker } from '../../../../simulators/jira/server.ts';
import { ask } from '../ask.ts';

interface Subset {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { responses: Record<string, object> }>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: Record<string, object> }>>;
  };
  readonly examples: Readonly<Record<string, Record<string, unknown>>>;
}

const subset: Subset = JSON.parse(
  fs.readFileSync(path.join(import.meta.dirname, 'openapi.subset.json'), 'utf8'),
);

// The document says "string"; recorded payloads have null where there was nothing before or is nothing after.
const details = subset.components.schemas.ChangeDetails?.properties ?? {};
for (const name of ['from', 'fromString', 'to', 'toString']) details[name] = { type: ['string', 'null'] };

const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema({ paths: subset.paths, components: subset.components }, 'jira');

/** What the vendor's document has against this answer. */
const faultsOf = (template: string, method: 'get' | 'post', body: unknown): readonly string[] => {
  if (subset.paths[template]?.[method]?.responses['200'] === undefined)
    throw new Error(`the document has no ${method} ${template}`);
  const pointer = template
    .replaceAll('~', '~0')
    .replaceAll('/', '~1')
    .replaceAll('{', '%7B')
    .replaceAll('}', '%7D');
  const validate = ajv.compile({ $ref: `jira#/paths/${pointer}/${method}/responses/200` });
  validate(body);
  return (validate.errors ?? []).map(
    (one) => `${one.instancePath} ${one.message} ${JSON.stringify(one.params)}`,
  );
};

const tracker = await startTracker({ dialect: 'vendor', issues: 400, now: new Date('2026-01-15T12:00:00Z') });
const { get, search, post } = ask(tracker);
afterAll(() => tracker.close());

const truth = tracker.oracle();
const busy = [...truth.issues.values()].find(
  (one) => one.worklogs.length > 0 && one.comments.length > 0 && one.history.length > 5,
);
const group = truth.groups.find((one) => one.members.length > 50);

test.each([
  ['/rest/api/3/field', ''],
  ['/rest/api/3/field/search', ''],
  ['/rest/api/3/user/search', '?query=a'],
  ['/rest/api/3/users/search', ''],
  ['/rest/api/3/group/member', `?groupId=${group?.groupId}`],
  ['/rest/api/3/group/bulk', ''],
  ['/rest/api/3/project/search', '?expand=description,lead,url,issueTypes'],
  ['/rest/api/3/myself', ''],
  ['/rest/api/3/serverInfo', ''],
  ['/rest/api/3/status', ''],
  ['/rest/api/3/issuetype', ''],
  ['/rest/api/3/priority', ''],
  ['/rest/api/3/search/jql', '?jql=project=PAY&fields=*all&expand=changelog,names,schema'],
  ['/rest/api/3/user', `?accountId=${encodeURIComponent(truth.users[3]?.accountId ?? '')}`],
  ['/rest/agile/1.0/board', ''],
])('%s answers as the vendor documents it', async (template, query) => {
  const reply = await get(`${template}${query}`);
  expect(reply.status).toBe(200);
  expect(faultsOf(template, 'get', reply.body)).toEqual([]);
  const list = Array.isArray(reply.body) ? reply.body : (reply.body.values ?? reply.body.issues);
  if (list !== undefined) expect(list.length).toBeGreaterThan(0);
});

test.each([
  ['/rest/api/3/issue/{issueIdOrKey}', busy?.id, '?expand=changelog'],
  ['/rest/api/3/issue/{issueIdOrKey}/changelog', busy?.id, ''],
  ['/rest/api/3/issue/{issueIdOrKey}/comment', busy?.id, ''],
  ['/rest/api/3/issue/{issueIdOrKey}/worklog', busy?.id, ''],
  ['/rest/api/3/project/{projectIdOrKey}', 'PAY', ''],
  ['/rest/agile/1.0/board/{boardId}', '1', ''],
])('%s answers as the vendor documents it', async (template, id, query) => {
  const reply = await get(`${template.replace(/\{\w+\}/, String(id))}${query}`);
  expect(reply.status).toBe(200);
  expect(faultsOf(template, 'get', reply.body)).toEqual([]);
});

test('the search and the count answer as the vendor documents them', async () => {
  const found = await search({
    jql: 'created >= "2000-01-01" ORDER BY key ASC',
    fields: ['*all'],
    expand: 'changelog,names,schema',
    maxResults: 100,
  });
  expect(found.status).toBe(200);
  expect(found.body.issues).toHaveLength(100);
  expect(faultsOf('/rest/api/3/search/jql', 'post', found.body)).toEqual([]);
  const count = await post('/rest/api/3/search/approximate-count', { jql: 'project = PAY' });
  expect(faultsOf('/rest/api/3/search/approximate-count', 'post', count.body)).toEqual([]);
});

test('sprints have no members but those of the vendor\u2019s example', async () => {
  const examples = subset.examples['/rest/agile/1.0/sprint/{sprintId}'] ?? {};
  const known = new Set(Object.keys(examples));
  const page = await get('/rest/agile/1.0/board/1/sprint?startAt=50');
  expect(page.body.values.length).toBeGreaterThan(5);
  for (const sprint of page.body.values)
    expect(Object.keys(sprint).filter((name) => !known.has(name))).toEqual([]);
  expect(Object.keys(page.body).sort()).toEqual(
    Object.keys(subset.examples['/rest/agile/1.0/board/{boardId}/sprint'] ?? {}).sort(),
  );
  const future = page.body.values.findLast((one) => one.state === 'future');
  expect(future).toBeDefined();
  expect(future).not.toHaveProperty('startDate');
});

test('a schema fault would be noticed', () => {
  expect(faultsOf('/rest/api/3/search/approximate-count', 'post', { count: 'many', more: 1 })).toHaveLength(
    2,
  );
});
