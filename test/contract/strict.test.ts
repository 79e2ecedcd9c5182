import { afterEach, expect, test } from 'vitest';
import { type Fault, status } from '../../simulators/shared/faults.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

let rig: Rig;
afterEach(() => rig.close());

/** What the contract names of each list's query, and how it may be told whose members are asked for. */
const named = new Set(['startAt', 'maxResults', 'cursor', 'groupId', 'groupname']);
const beyond = ({ query }: { query: Readonly<Record<string, string>> }): boolean =>
  Object.keys(query).some((name) => !named.has(name));

test.each([400, 422])(
  'a tracker that refuses parameters beyond the contract (%i) is read all the same',
  async (refusal) => {
    rig = await openRig({ ...smallSite, dialect: 'contract', bare: true });
    const { groups } = rig.tracker.oracle();
    const rule = rig.tracker.script.at(
      { method: 'GET', times: Number.POSITIVE_INFINITY, match: beyond },
      status(refusal, { body: '{"message":"unknown parameter"}' }),
    );
    const settings = { groups: groups.map(({ name }) => name) };
    expect(await rig.sync({}, { settings })).toMatchObject({ status: 'succeeded' });
    expect(rule.fired).toBeGreaterThan(0);
    // A bare tracker lists no groups: the oracle expects none.
    const wrong = await differences(rig, { bare: true });
    expect(wrong.filter((line) => !line.startsWith('group'))).toEqual([]);
    const members = await rig.rows('select group_id, user_id from tracker.group_members');
    const expected = groups.flatMap((group) =>
      group.members.map((user) => ({ group_id: group.name, user_id: user })),
    );
    expect(members).toHaveLength(expected.length);
    expect(members).toEqual(expect.arrayContaining(expected));
  },
);

test('a single refusal of a question does not cost what only its parameters show: inactive members, descriptions', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' });
  await rig.sync();
  for (const endpoint of ['/rest/api/3/group/member', '/rest/api/3/project/search'])
    rig.tracker.script.at({ endpoint, match: beyond }, status(400));
  expect(await rig.sync()).toMatchObject({ status: 'succeeded', deleted: 0, counts: { updated: 0 } });
  expect(await differences(rig)).toEqual([]);
});

test.each([400, 422])(
  'a tracker that knows `created >=` alone and refuses an upper bound (%i) is read all the same',
  async (refusal) => {
    rig = await openRig({ ...smallSite, dialect: 'contract' });
    const rule = rig.tracker.script.at(
      {
        endpoint: '/rest/api/3/search/jql',
        times: Number.POSITIVE_INFINITY,
        match: ({ body }) => JSON.stringify(body).includes(' < '),
      },
      status(refusal, { body: '{"errorMessages":["operator"]}' }),
    );
    for (let night = 0; night < 2; night += 1) {
      expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
      expect(await differences(rig)).toEqual([]);
      rig.tracker.clock.advance(86_400_000);
      rig.tracker.state.create('PAY');
    }
    expect(rule.fired).toBeGreaterThan(0);
    expect(await rig.reconcile()).toMatchObject({ status: 'succeeded', deleted: 0 });
  },
);

test('a list that is refused in the midst of its walk is not read on by other words', async () => {
  rig = await openRig({ ...smallSite, dialect: 'vendor', users: 130 });
  const endpoint = '/rest/api/3/group/member';
  const rule = rig.tracker.script.at(
    { endpoint, times: Number.POSITIVE_INFINITY, match: ({ query }) => Number(query.startAt ?? 0) > 0 },
    status(400),
  );
  expect(await rig.sync({ streams: ['group_members', 'groups'] })).toMatchObject({ status: 'partly_failed' });
  expect(rule.fired).toBeGreaterThan(0);
  const asked = [...rig.tracker.log].filter((one) => one.endpoint === endpoint);
  expect(asked.filter(({ query }) => query.includeInactiveUsers === undefined)).toEqual([]);
});

/** The server keeps milliseconds, compares by them, and writes whole seconds. */
const wholeSeconds: Fault = {
  name: 'whole seconds',
  answer: (answer) => ({
    ...answer,
    body: Buffer.from(answer.body.toString().replace(/("(?:created|updated)":"[^".]*)\.\d+/g, '$1')),
  }),
};

test('a search that knows epoch literals alone and writes whole seconds is read', async () => {
  rig = await openRig({ ...smallSite, dialect: 'contract', bare: true });
  const endpoint = '/rest/api/3/search/jql';
  const isQuoted = ({ body }: { body: unknown }): boolean =>
    /(created|updated)[ <>=]+\\?"?\d{4}[-/]/.test(JSON.stringify(body));
  rig.tracker.script.at({ endpoint, times: Number.POSITIVE_INFINITY }, wholeSeconds);
  rig.tracker.script.at({ endpoint, times: Number.POSITIVE_INFINITY, match: isQuoted }, status(400));
  expect(await rig.sync({ streams: ['issues'] })).toMatchObject({ status: 'succeeded' });
  expect(await rig.rows('select id from tracker.issues')).toHaveLength(rig.tracker.oracle().issues.size);
});

/** The server writes instants as seconds since 1970. */
const countsSeconds: Fault = {
  name: 'counts seconds',
  answer: (answer) => ({
    ...answer,
    body: Buffer.from(
      answer.body
        .toString()
        .replace(
          /("(?:created|updated)":)"([^"]*)"/g,
          (_, name, at) => `${name}${Math.floor(Date.parse(at) / 1000)}`,
        ),
    ),
  }),
};

test('a search that tells instants as numbers of seconds is read', async () => {
  rig = await openRig({ ...smallSite, dialect: 'contract', bare: true });
  rig.tracker.script.at(
    { endpoint: '/rest/api/3/search/jql', times: Number.POSITIVE_INFINITY },
    countsSeconds,
  );
  for (let night = 0; night < 2; night += 1) {
    expect(await rig.sync({ streams: ['issues'] })).toMatchObject({ status: 'succeeded' });
    const rows = await rig.rows<{ id: string; created: number; updated: number }>(
      'select id::text, extract(epoch from created_at)::int as created, extract(epoch from updated_at)::int as updated from tracker.issues',
    );
    const { issues } = rig.tracker.oracle();
    expect(rows).toHaveLength(issues.size);
    for (const { id, created, updated } of rows) {
      const { created: createdMs = 0, updated: updatedMs = 0 } = issues.get(id) ?? {};
      expect({ id, created, updated }).toEqual({
        id,
        created: Math.floor(createdMs / 1000),
        updated: Math.floor(updatedMs / 1000),
      });
    }
    rig.tracker.state.create('PAY');
  }
});
