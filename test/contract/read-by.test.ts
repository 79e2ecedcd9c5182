import { afterEach, describe, expect, test } from 'vitest';
import { type Field, POINTS } from '../../simulators/jira/model.ts';
import { type Fault, status } from '../../simulators/shared/faults.ts';
import type { LoggedRequest } from '../../simulators/shared/script.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

let rig: Rig;
afterEach(() => rig.close());

/** What issues are read by, and they themselves. */
const ofIssues = { streams: ['projects', 'fields', 'issues'] };

const hour = 3_600_000;

const open = async (): Promise<Rig['tracker']> => {
  rig = await openRig({ ...smallSite, dialect: 'vendor' });
  return rig.tracker;
};
const withPoints = async (): Promise<number> =>
  (await rig.rows<{ n: number }>('select count(story_points)::int as n from tracker.issues'))[0]?.n ?? 0;
const readOfIssues = async (): Promise<number | undefined> => {
  const report = await rig.sync(ofIssues);
  return report.streams.find(({ stream }) => stream === 'issues')?.counts.received;
};

/** What was said, in all runs so far, of why everything is read again. */
const reasons = (): readonly string[] =>
  rig.events.flatMap((event) =>
    event.type === 'note' ? (/^issues: everything is read again: (.*)/.exec(event.message)?.[1] ?? []) : [],
  );

/** The field that holds the points, under another name and as a plain number: what it means is told by its name alone. */
const called = (name: string, field: Field | undefined): Field => {
  if (field === undefined) throw new Error('the site has no field for points');
  return { ...field, name, schema: { ...field.schema, custom: 'float' } };
};

/** A first sync in which a field does not mean points, and one some days later in which it does. */
const comeToMeanPoints = async (): Promise<void> => {
  const { state, clock } = rig.tracker;
  const field = state.fields.get(POINTS);
  state.fields.set(POINTS, called('Estimate', field));
  await rig.sync(ofIssues);
  expect(await withPoints()).toBe(0);
  clock.advance(72 * hour);
  state.fields.set(POINTS, called('Story Points', field));
  expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
};

test('a field that comes to mean story points brings those of all issues, not of changed ones alone', async () => {
  const { state } = await open();
  await comeToMeanPoints();
  expect(reasons()).toEqual(['the source has other fields of a kind that decides what its records become']);
  expect(await withPoints()).toBeGreaterThan(0);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  expect(await readOfIssues()).toBeLessThan(state.store.size);
});

test('so it does where a server knows who we are, and has the one list of fields that the contract has', async () => {
  rig = await openRig({ ...smallSite, dialect: 'contract' });
  rig.tracker.script.at({ endpoint: '/rest/api/3/field', times: Number.POSITIVE_INFINITY }, status(404));
  await comeToMeanPoints();
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test('a night on which the fields are closed to us reads little, and what it read without them is read again', async () => {
  const { state, clock, script } = await open();
  await rig.sync(ofIssues);
  clock.advance(24 * hour);
  for (let place = 0; place < 60; place += 1) state.touch(state.store.at(place).id);
  clock.advance(hour);
  await rig.sync(ofIssues);
  const had = await withPoints();
  clock.advance(25 * hour);
  state.touch(state.store.at(100).id);
  const shut = script.at(
    { match: ({ path }) => path.startsWith('/rest/api/3/field'), times: Number.POSITIVE_INFINITY },
    status(403),
  );
  expect(await readOfIssues()).toBeLessThan(state.store.size);
  expect(shut.fired).toBeGreaterThan(0);
  expect(await withPoints()).toBeLessThan(had);
  shut.cancel();
  clock.advance(25 * hour);
  expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
  expect(await withPoints()).toBe(had);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

test.each([404, 403])(
  'a night on which one of the two lists of fields is answered %i takes nothing from issues for longer',
  async (code) => {
    const { state, clock, script } = await open();
    await rig.sync(ofIssues);
    clock.advance(72 * hour);
    for (let place = 0; place < state.store.size; place += 1) state.touch(state.store.at(place).id);
    clock.advance(10 * hour);
    await rig.sync(ofIssues);
    clock.advance(23 * hour);
    state.touch(state.store.at(1).id);
    clock.advance(hour);
    const shut = script.at({ endpoint: '/rest/api/3/field', times: Number.POSITIVE_INFINITY }, status(code));
    expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
    expect(shut.fired).toBeGreaterThan(0);
    shut.cancel();
    clock.advance(24 * hour);
    expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  },
);

test.each([
  ['vendor', 404, 'the second page', { match: ({ query }: LoggedRequest) => query.startAt !== undefined }],
  ['vendor', 403, 'the second page', { match: ({ query }: LoggedRequest) => query.startAt !== undefined }],
  ['contract', 404, 'the first page', {}],
] as const)(
  'one bad answer of a %s, a %i for %s of the fields, costs no issue its points',
  async (dialect, code, _, when) => {
    rig = await openRig({ ...smallSite, issues: 40, dialect, bare: dialect === 'contract' });
    rig.tracker.script.at({ endpoint: '/rest/api/3/field/search', ...when }, status(code));
    expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig, { bare: dialect === 'contract', issuesOnly: true })).toEqual([]);
  },
);

describe('one answer with less in it than there was,', () => {
  /** So much of the list, as if there were no more. */
  const cutTo = (share: number): Fault => ({
    name: 'cut',
    answer: (answer) => {
      const cut = (list: readonly unknown[]): readonly unknown[] =>
        list.slice(0, Math.floor(list.length * share));
      const told: unknown = JSON.parse(String(answer.body));
      const { values = [] } = Object(told) as { readonly values?: readonly unknown[] };
      const body = Array.isArray(told) ? cut(told) : { values: cut(values), isLast: true };
      return { ...answer, body: Buffer.from(JSON.stringify(body)) };
    },
  });

  test.each([
    ['vendor', '/rest/api/3/field', 0],
    ['vendor', '/rest/api/3/field', 0.5],
    ['contract', '/rest/api/3/field/search', 0],
    ['contract', '/rest/api/3/field/search', 0.5],
  ] as const)(
    'of a %s, to %s, of which %d is left, costs no issue its custom fields',
    async (dialect, endpoint, share) => {
      const bare = dialect === 'contract';
      rig = await openRig({ ...smallSite, dialect, bare });
      const { state, clock, script } = rig.tracker;
      await rig.sync(ofIssues);
      clock.advance(24 * hour);
      const rule = script.at({ endpoint }, cutTo(share));
      const from = rig.tracker.log.length;
      const received = await readOfIssues();
      expect(rule.fired).toBe(1);
      expect(received).toBeLessThan(state.store.size);
      expect(await differences(rig, { bare, issuesOnly: true })).toEqual([]);
      expect(
        rig.tracker.log.slice(from).filter((one) => one.endpoint === endpoint).length,
      ).toBeLessThanOrEqual(6);
    },
  );

  test('and an empty list of fields is none in the first sync, either', async () => {
    rig = await openRig({ ...smallSite, dialect: 'contract', bare: true });
    const rule = rig.tracker.script.at({ endpoint: '/rest/api/3/field/search' }, cutTo(0));
    await rig.sync(ofIssues);
    expect(rule.fired).toBe(1);
    expect(await differences(rig, { bare: true, issuesOnly: true })).toEqual([]);
  });

  test('that says so night after night is asked for twice in the first of them', async () => {
    const { clock, log } = await open();
    await rig.sync(ofIssues);
    hide('customfield_10036');
    const asked = async (): Promise<number> => {
      clock.advance(24 * hour);
      const from = log.length;
      await rig.sync(ofIssues);
      return log.slice(from).filter(({ endpoint }) => endpoint === '/rest/api/3/field').length;
    };
    const nights = [await asked(), await asked(), await asked()];
    expect(nights).toEqual([3, 2, 2]);
  });
});

test('what an older program made of issues is made anew, once, and without being asked', async () => {
  const { state, clock } = await open();
  await rig.sync(ofIssues);
  await rig.rows(`update ops.checkpoints set scope = split_part(scope, E'\\n', 1) where stream = 'issues'`);
  await rig.rows(`update tracker.issues set custom_fields = '{}', story_points = null, _row_hash = 1`);
  clock.advance(72 * hour);
  expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  expect(await readOfIssues()).toBeLessThan(state.store.size);
  expect(reasons()).toEqual(['it now makes more of a record than when it was read']);
});

test('so it is where the server does not show all of its lists of fields', async () => {
  const { state, clock, script } = await open();
  script.at({ endpoint: '/rest/api/3/field', times: Number.POSITIVE_INFINITY }, status(404));
  await rig.sync(ofIssues);
  await rig.rows(
    `update ops.checkpoints set scope = regexp_replace(scope, 'edition .', 'edition 1') where stream = 'issues'`,
  );
  await rig.rows(`update tracker.issues set status = null, _row_hash = 1`);
  clock.advance(72 * hour);
  expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
  expect(await rig.rows('select id from tracker.issues where status is null')).toEqual([]);
  expect(await readOfIssues()).toBeLessThan(state.store.size);
});

/** Says of every change what made it. */
const automated: Fault = {
  name: 'what made a change',
  answer: (answer) => ({
    ...answer,
    body: Buffer.from(
      String(answer.body).replaceAll('"items":[', '"historyMetadata":{"type":"automation"},"items":['),
    ),
  }),
};

test('what an update makes more of is there of long histories, too, which do not come with their issues', async () => {
  rig = await openRig({
    ...smallSite,
    dialect: 'vendor',
    embedded: { changelog: 2, comments: 3, worklogs: 2 },
  });
  const { script, clock } = rig.tracker;
  for (const endpoint of ['/rest/api/3/search/jql', '/rest/api/3/issue/{id}/changelog'])
    script.at({ endpoint, times: Number.POSITIVE_INFINITY }, automated);
  await rig.sync(ofIssues);
  const toldOf = `select count(*) filter (where _extra -> 'historyMetadata' ->> 'type' = 'automation')::int as told, count(*)::int as "all"
    from tracker.issue_changelog`;
  const [before] = await rig.rows<{ told: number; all: number }>(toldOf);
  expect(before?.all).toBeGreaterThan(100);
  expect(before?.told).toBe(before?.all);
  // As a version leaves it that knew neither the column nor one of the issue's own.
  await rig.rows(`update tracker.issue_changelog set _extra = null`);
  await rig.rows(`update tracker.issues set _row_hash = 1`);
  await rig.rows(`update ops.checkpoints set scope = regexp_replace(scope, 'edition .', 'edition 4')`);
  clock.advance(72 * hour);
  expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
  expect(await rig.rows(toldOf)).toEqual([before]);
  clock.advance(72 * hour);
  expect((await rig.sync(ofIssues)).counts).toMatchObject({ updated: 0, inserted: 0 });
});

/** Takes a custom field out of the site's lists, as if it were hidden; gives what puts it back. */
const hide = (id: string): (() => void) => {
  const { fields } = rig.tracker.state;
  const field = fields.get(id);
  if (field === undefined) throw new Error(`the site has no ${id}`);
  fields.delete(id);
  return () => fields.set(id, field);
};
const withValue = async (id: string): Promise<number> =>
  (
    await rig.rows<{ n: number }>(
      `select count(*)::int as n from tracker.issues where custom_fields ? '${id}'`,
    )
  )[0]?.n ?? 0;

test('a field that was hidden, or not in the list for a night, brings the values of all issues when it is there', async () => {
  const { state, clock } = await open();
  const show = hide('customfield_10036');
  await rig.sync(ofIssues);
  expect(await withValue('customfield_10036')).toBe(0);
  clock.advance(72 * hour);
  expect(await readOfIssues()).toBeLessThan(state.store.size);
  show();
  clock.advance(24 * hour);
  expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
  expect(await withValue('customfield_10036')).toBeGreaterThan(0);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  clock.advance(24 * hour);
  expect(await readOfIssues()).toBeLessThan(state.store.size);
  expect(reasons()).toEqual(['customfield_10036 came into sight']);
});

test('so it does where the night between knew nothing of fields', async () => {
  const { clock, script } = await open();
  const show = hide('customfield_10036');
  await rig.sync(ofIssues);
  clock.advance(72 * hour);
  const shut = script.at(
    { match: ({ path }) => path.startsWith('/rest/api/3/field'), times: Number.POSITIVE_INFINITY },
    status(403),
  );
  await rig.sync(ofIssues);
  shut.cancel();
  show();
  clock.advance(24 * hour);
  await rig.sync(ofIssues);
  expect(await differences(rig, { issuesOnly: true })).toEqual([]);
});

const span = { from: new Date('2025-12-01T00:00:00Z'), to: new Date('2026-03-15T00:00:00Z') };

describe('what a run reads without a field, as one answer left it out of the list, is read again when it is there,', () => {
  test('also where the run was a backfill, which moves no watermark', async () => {
    const { clock } = await open();
    await rig.sync(ofIssues);
    const show = hide('customfield_10036');
    expect(await rig.backfill(span)).toMatchObject({ status: 'succeeded' });
    show();
    expect(await withValue('customfield_10036')).toBe(0);
    clock.advance(24 * hour);
    expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
    clock.advance(24 * hour);
    expect(await readOfIssues()).toBeLessThan(rig.tracker.state.store.size);
  });

  test('and where no list of fields was given at all, and with them what holds the points', async () => {
    const { clock, script } = await open();
    await rig.sync(ofIssues);
    const shut = script.at(
      { match: ({ path }) => path.startsWith('/rest/api/3/field'), times: Number.POSITIVE_INFINITY },
      status(403),
    );
    expect(await rig.backfill(span)).toMatchObject({ status: 'succeeded' });
    shut.cancel();
    expect(await withPoints()).toBe(0);
    clock.advance(24 * hour);
    expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  });
});

const newestField = (): string =>
  [...rig.tracker.state.fields.keys()]
    .filter((id) => id.startsWith('customfield_'))
    .sort()
    .at(-1) ?? '';

test.each(['sync', 'backfill'] as const)(
  'the newest field that a %s did without comes back with its values: it is no new one',
  async (kind) => {
    const { clock } = await open();
    await rig.sync(ofIssues);
    const newest = newestField();
    const show = hide(newest);
    await (kind === 'sync' ? rig.sync({ ...ofIssues, full: true }) : rig.backfill(span));
    expect(await withValue(newest)).toBe(0);
    show();
    clock.advance(24 * hour);
    expect(await rig.sync(ofIssues)).toMatchObject({ status: 'succeeded' });
    expect(await withValue(newest)).toBeGreaterThan(0);
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
    clock.advance(24 * hour);
    expect(await readOfIssues()).toBeLessThan(rig.tracker.state.store.size);
  },
);

test('a new field reads nothing again', async () => {
  const { state, clock } = await open();
  const newest = newestField();
  const show = hide(newest);
  await rig.sync(ofIssues);
  show();
  clock.advance(72 * hour);
  expect(await readOfIssues()).toBeLessThan(state.store.size);
  expect(reasons()).toEqual([]);
});
