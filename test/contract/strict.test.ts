import { expect, test } from 'vitest';
import { type Fault, status } from '../../simulators/shared/faults.ts';
import { differences, issueDifferences } from '../support/oracle.ts';
import { testRig } from '../support/rig.ts';

const search = '/rest/api/3/search/jql';
const always = { times: Number.POSITIVE_INFINITY };
const issues = { streams: ['issues'] };
const succeeded = { status: 'succeeded' };

/** What the contract names of each list's query, and what selects the group whose members are listed. */
const ofContract = new Set(['startAt', 'maxResults', 'cursor', 'groupId', 'groupname']);
const beyond = ({ query }: { query: Readonly<Record<string, string>> }): boolean =>
  Object.keys(query).some((name) => !ofContract.has(name));

// The contract names what its lists take; a server of it may refuse anything else.
test('a tracker of the contract gets no parameter beyond it, and is read', async () => {
  const rig = await testRig({ dialect: 'contract', bare: true, issues: 20, years: 0.1 });
  const { groups } = rig.tracker.oracle();
  const settings = { groups: groups.map(({ name }) => name) };
  expect(await rig.sync({}, { settings })).toMatchObject(succeeded);
  const lists = rig.tracker.log.filter(({ method, status: code }) => method === 'GET' && code === 200);
  expect(lists.length).toBeGreaterThan(5);
  expect(lists.filter(beyond)).toEqual([]);
  // The comparison expects no groups of a bare tracker.
  const wrong = await differences(rig, { bare: true });
  expect(wrong.filter((line) => !line.startsWith('group'))).toEqual([]);
  const members = groups.flatMap((group) => group.members);
  expect(await rig.rows('select from tracker.group_members')).toHaveLength(members.length);
});

test.each([400, 422])('a tracker that refuses an upper bound of `created` (%i) is read', async (refusal) => {
  const rig = await testRig({ dialect: 'contract', bare: true, issues: 40 });
  const match = ({ body }: { body?: unknown }): boolean => JSON.stringify(body).includes(' < ');
  const rule = rig.tracker.script.at({ endpoint: search, ...always, match }, status(refusal));
  for (let run = 0; run < 2; run += 1) {
    expect(await rig.sync(issues)).toMatchObject(succeeded);
    expect(await issueDifferences(rig, { bare: true })).toEqual([]);
    rig.tracker.clock.advance(86_400_000);
    rig.tracker.state.create('PAY');
  }
  expect(rule.fired).toBeGreaterThan(0);
  expect(await rig.reconcile(issues)).toMatchObject({ ...succeeded, deleted: 0 });
});

test('a list that is refused after its first page is not continued with other parameters', async () => {
  const rig = await testRig({ dialect: 'vendor', users: 130, issues: 5 });
  const endpoint = '/rest/api/3/group/member';
  const isLater = ({ query }: { query: Readonly<Record<string, string>> }) => Number(query.startAt ?? 0) > 0;
  const rule = rig.tracker.script.at({ endpoint, ...always, match: isLater }, status(400));
  expect(await rig.sync({ streams: ['group_members', 'groups'] })).toMatchObject({ status: 'partly_failed' });
  expect(rule.fired).toBeGreaterThan(0);
  const sent = rig.tracker.log.filter((one) => one.endpoint === endpoint);
  expect(sent.filter(({ query }) => query.includeInactiveUsers === undefined)).toEqual([]);
});

test('a tracker that writes whole seconds and reads epoch literals alone is read', async () => {
  const rig = await testRig({ dialect: 'contract', bare: true, issues: 40 });
  const wholeSeconds: Fault = {
    name: 'whole seconds',
    answer: (answer) => {
      const instants = /("(?:created|updated)":"[^"]*?)\.\d+/g;
      return { ...answer, body: Buffer.from(String(answer.body).replace(instants, '$1')) };
    },
  };
  const isQuoted = ({ body }: { body?: unknown }): boolean =>
    /(created|updated)[ <>=]+\\?"?\d{4}[-/]/.test(JSON.stringify(body));
  rig.tracker.script.at({ endpoint: search, ...always }, wholeSeconds);
  rig.tracker.script.at({ endpoint: search, ...always, match: isQuoted }, status(400));
  for (let run = 0; run < 2; run += 1) {
    expect(await rig.sync(issues)).toMatchObject(succeeded);
    const rows = await rig.rows<{ id: string }>(
      `select id::text, extract(epoch from created_at)::int as created, extract(epoch from updated_at)::int as updated
       from tracker.issues order by tracker.issues.id`,
    );
    const truth = [...rig.tracker.oracle().issues.values()].map(({ id, created, updated }) => ({
      id,
      created: Math.floor(created / 1000),
      updated: Math.floor(updated / 1000),
    }));
    expect(rows).toEqual(truth.toSorted((a, b) => Number(a.id) - Number(b.id)));
    rig.tracker.state.create('PAY');
  }
});
