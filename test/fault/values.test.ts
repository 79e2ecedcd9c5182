/** F4 of the guarantees: values that cannot be stored, must not be changed, or look like something else. */

import { afterEach, describe, expect, test } from 'vitest';
import type { TrackerOptions } from '../../simulators/jira/server.ts';
import { status } from '../../simulators/shared/faults.ts';
import { differences } from '../support/oracle.ts';
import { openRig, type Rig } from '../support/rig.ts';
import { smallSite } from '../support/small-site.ts';

const issues = { streams: ['issues'] };
const done = (counts: object) => ({ status: 'succeeded', counts });
const always = { times: Number.POSITIVE_INFINITY };

let rig: Rig;
const open = async (options: TrackerOptions = {}): Promise<readonly string[]> => {
  rig = await openRig({ ...smallSite, dialect: 'vendor', issues: 30, ...options });
  return [...rig.tracker.oracle().issues.keys()];
};
afterEach(() => rig.close());

/** Sets the field of each issue to its own JSON text; undefined: as it was. */
const setEach = (ids: readonly string[], field: string, texts: readonly (string | undefined)[]): void => {
  for (const [at, text] of texts.entries()) rig.tracker.state.setRaw(ids[at] ?? '', field, text);
};
const rejectStates = async () => (await rejects()).map(({ status }) => status);
const rejects = () =>
  rig.rows<{ record_key: string; payload: Buffer; code: string; status: string; attempts: number }>(
    'select record_key, payload, code, status, attempts from ops.rejects order by reject_id',
  );
const issue = async (id: string): Promise<Record<string, unknown> | undefined> => {
  const rows = await rig.rows<{ row: string }>(
    'select to_jsonb(t)::text as row from tracker.issues t where id = $1 and _deleted_at is null',
    [id],
  );
  return rows[0] === undefined ? undefined : JSON.parse(rows[0].row);
};

const poisons: readonly (readonly [id: string, what: string, field: string, json: string])[] = [
  ['V1', 'a NUL in a label', 'labels', '["a\\u0000b"]'],
  ['V1', 'a NUL in the key', 'issue.key', '"PAY\\u0000-1"'],
  ['V3', 'an id beyond 2^63', 'issue.id', '"9223372036854775808"'],
  ['V3', 'an id that is no integer', 'issue.id', '"1e3"'],
  ['V4', 'a creation on 30 February', 'created', '"2024-02-30T10:00:00.000+0000"'],
  ['V4', 'a creation at 24:00', 'created', '"2024-02-03T24:00:00.000+0000"'],
  ['V4', 'a creation at second 60', 'created', '"2024-02-03T10:00:60.000+0000"'],
  ['V4', 'a creation without an offset', 'created', '"2024-02-03T10:00:00.000"'],
  ['V4', 'a creation now', 'created', '"now"'],
  ['V4', 'a creation at infinity', 'created', '"infinity"'],
  ['V4', 'a creation in the year 0', 'created', '"0000-02-03T10:00:00.000+0000"'],
  ['V4', 'a creation in the year 10000', 'created', '"10000-02-03T10:00:00.000+0000"'],
  ['V4', 'a creation that is null', 'created', 'null'],
  ['V5', 'a depth of 6,000', 'customfield_10040', '['.repeat(6_000) + ']'.repeat(6_000)],
  ['V5', 'a depth of 100,000', 'customfield_10040', '['.repeat(100_000) + ']'.repeat(100_000)],
  ['V11', 'a status that is text', 'status', '"Done"'],
  ['V11', 'a project that is a list', 'project', '[]'],
];

describe('a record that cannot be a row is kept with its bytes, and the rest of its page lands', () => {
  // Ten rejects at most: more would fail the run (V14).
  test.each([
    ['text, ids and creations', poisons.slice(0, 9)],
    ['creations, depth and types', poisons.slice(9)],
  ])('%s', async (_, some) => {
    const ids = (await open()).slice(0, some.length);
    for (const [at, [, , field, json]] of some.entries())
      rig.tracker.state.setRaw(ids[at] ?? '', field, json);
    expect(await rig.sync(issues)).toMatchObject(
      done({ received: 30, inserted: 30 - some.length, rejected: some.length }),
    );
    expect(await differences(rig, { issuesOnly: true, except: ids })).toEqual([]);
    const kept = await rejects();
    expect(kept).toHaveLength(some.length);
    for (const reject of kept)
      expect(reject).toMatchObject({ status: 'open', attempts: 1, code: expect.stringMatching(/^[a-z_]+$/) });
    for (const [, what, , json] of some)
      expect(
        kept.some(({ payload }) => payload.includes(json.slice(0, 2_000))),
        what,
      ).toBe(true);
    // V15: the source mends them.
    rig.tracker.clock.advance(60_000);
    for (const [at, [, , field]] of some.entries()) rig.tracker.state.setRaw(ids[at] ?? '', field, undefined);
    expect(await rig.sync(issues)).toMatchObject(done({ inserted: some.length, rejected: 0 }));
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
    // A reject with an unreadable id cannot be matched to the mended record.
    const withId = some.filter(([, , field]) => field !== 'issue.id');
    expect((await rejects()).filter(({ status }) => status === 'resolved')).toHaveLength(withId.length);
  });
});

describe('V1: text that Postgres cannot hold is stored with U+FFFD, noted, and kept exactly in _extra', () => {
  const document = (text: string) =>
    `{"type":"doc","version":1,"content":[{"type":"paragraph","content":[{"type":"text","text":"${text}"}]}]}`;
  const texts: readonly (readonly [
    what: string,
    field: string,
    json: string,
    column: string,
    stored: unknown,
  ])[] = [
    ['a NUL in the summary', 'summary', '"nul \\u0000 here"', 'summary', 'nul \ufffd here'],
    ['half of a surrogate pair', 'summary', '"half \\ud800 a pair 😀"', 'summary', 'half \ufffd a pair 😀'],
    ['a NUL after a backslash', 'summary', '"\\\\\\u0000 \\\\u0000"', 'summary', '\\\ufffd \\u0000'],
    ['a NUL deep in a document', 'description', document('a\\u0000b'), 'description', 'a\ufffdb'],
    [
      'a NUL in a custom field',
      'customfield_10040',
      '{"value":"a\\u0000b","exact":12345678901234567.89}',
      'custom_fields',
      expect.objectContaining({ customfield_10040: { value: 'a\ufffdb', exact: expect.any(Number) } }),
    ],
    [
      'a NUL in the name of a member',
      'customfield_10040',
      '{"va\\u0000lue":"b"}',
      'custom_fields',
      expect.objectContaining({ customfield_10040: { 'va\ufffdlue': 'b' } }),
    ],
  ];

  test('in six issues of one page', async () => {
    const ids = (await open()).slice(0, texts.length);
    for (const [at, [, field, json]] of texts.entries()) rig.tracker.state.setRaw(ids[at] ?? '', field, json);
    expect(await rig.sync(issues)).toMatchObject(done({ inserted: 30, rejected: 0 }));
    expect(await differences(rig, { issuesOnly: true, except: ids })).toEqual([]);
    for (const [at, [what, field, json, column, stored]] of texts.entries()) {
      expect((await issue(ids[at] ?? ''))?.[column], what).toEqual(stored);
      const [kept] = await rig.rows<{ text: string }>(
        `select _extra -> '_exact_text' ->> $2 as text from tracker.issues where id = $1`,
        [ids[at], column],
      );
      const exact: unknown = JSON.parse(kept?.text ?? 'null');
      if (column === 'custom_fields') expect(exact).toMatchObject({ [field]: JSON.parse(json) });
      else expect(exact, what).toBe(field === 'description' ? 'a\0b' : JSON.parse(json));
      if (json.includes('exact')) expect(kept?.text).toContain('12345678901234567.89');
      const note = `issues.${column}: NUL or half%`;
      expect(await rig.rows('select 1 from ops.schema_changes where note like $1', [note])).toHaveLength(1);
    }
    expect(await rejects()).toEqual([]);
    // Unchanged the next time, and themselves again once the source mends them.
    rig.tracker.clock.advance(60_000);
    expect(await rig.sync({ ...issues, full: true })).toMatchObject({
      counts: { updated: 0, unchanged: 30 },
    });
    for (const [at, [, field]] of texts.entries()) rig.tracker.state.setRaw(ids[at] ?? '', field, undefined);
    expect(await rig.sync(issues)).toMatchObject(done({ updated: texts.length, rejected: 0 }));
    expect(await differences(rig, { issuesOnly: true })).toEqual([]);
  });
});

test('V3: numbers beyond the exactness of JavaScript are stored as they are written', async () => {
  const ids = await open();
  const long = `${'1234567890'.repeat(20)}.5`;
  const texts = ['9007199254740993', '12345678901234567.89', '-0.1', '0.30000000000000004', long, '1e5'];
  setEach(ids, 'customfield_10016', texts);
  expect(await rig.sync(issues)).toMatchObject(done({ rejected: 0 }));
  for (const [place, text] of texts.entries()) {
    const rows = await rig.rows(
      `select story_points = $2::numeric as points, (custom_fields -> 'customfield_10016')::numeric = $2::numeric as custom from tracker.issues where id = $1`,
      [ids[place], text],
    );
    expect({ text, rows }).toEqual({ text, rows: [{ points: true, custom: true }] });
  }
});

/** An odd value of an optional field makes its column null, with the raw value kept, or its record a reject. */
const isNullOrReject = async (field: string, column: string, values: readonly string[]): Promise<void> => {
  const ids = await open();
  setEach(ids, field, values);
  // It holds the estimates once more.
  setEach(
    ids,
    'timetracking',
    values.map(() => 'null'),
  );
  expect((await rig.sync(issues)).status).toBe('succeeded');
  const rejected = (await rejects()).map((one) => one.record_key);
  for (const [at, json] of values.entries()) {
    const row = await issue(ids[at] ?? '');
    if (row === undefined) expect(rejected, json).toContain(ids[at]);
    else {
      expect(row[column], json).toBeNull();
      expect(JSON.stringify(row._extra), json).toContain(field);
    }
  }
};

test('V3: an integer field that cannot be exact is null with its raw value kept, or a reject; never rounded', () =>
  isNullOrReject('timeestimate', 'remaining_estimate_seconds', [
    ...['1e400', '9223372036854775808', '"many"', '1.5'],
  ]));

test('V4: every honest way to write an instant is the same instant', async () => {
  const ids = await open();
  const ways = [
    '"2020-06-12T08:13:13.360+0800"',
    '"2020-06-12T00:13:13.360Z"',
    '"2020-06-12T00:13:13.360+00:00"',
    '"2020-06-12T14:13:13.360+14:00"',
    '"2020-06-11T14:13:13.360-1000"',
    '1591920793360',
  ];
  setEach(ids, 'resolutiondate', ways);
  expect(await rig.sync(issues)).toMatchObject(done({ rejected: 0 }));
  for (const [place] of ways.entries())
    expect((await issue(ids[place] ?? ''))?.resolved_at).toBe('2020-06-12T00:13:13.36+00:00');
});

test('V4: an optional instant that is none is a reject or null with the raw value kept; never today', () =>
  isNullOrReject('resolutiondate', 'resolved_at', [
    ...['"2024-02-30T10:00:00.000+0000"', '"now"', '"infinity"', '"2024-02-03T10:00:00"', '{"a":1}', '""'],
  ]));

test('V6: names that JavaScript has a meaning for are data', async () => {
  const [id = ''] = await open();
  const value =
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":"text","hasOwnProperty":1}';
  rig.tracker.state.setRaw(id, 'customfield_10040', value);
  rig.tracker.state.setRaw(id, 'labels', '["__proto__","constructor","toString"]');
  expect(await rig.sync(issues)).toMatchObject(done({ rejected: 0 }));
  expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  expect(Reflect.get({}, 'polluted')).toBeUndefined();
  const rows = await rig.rows(
    `select custom_fields -> 'customfield_10040' = $2::jsonb as same, labels from tracker.issues where id = $1`,
    [id, value],
  );
  expect(rows).toEqual([{ same: true, labels: ['__proto__', 'constructor', 'toString'] }]);
});

test('V10: names of fields are only names, whatever they look like', async () => {
  const [id = ''] = await open();
  const odd = ['"; drop table tracker.issues; --', '🦆', "o'clock", '$1', '%s'];
  const names = [...odd, 'select', 'ctid', 'xmin', '_deleted_at'];
  for (const [place, name] of names.entries())
    rig.tracker.state.addField({
      id: `customfield_2000${place}`,
      name,
      custom: true,
      schema: { type: 'string', custom: 'x:y', customId: 20_000 + place },
    });
  rig.tracker.state.update(id, {
    custom: Object.fromEntries(names.map((name, place) => [`customfield_2000${place}`, name])),
    labels: names.filter((name) => !name.includes(' ')),
  });
  expect(await rig.sync()).toMatchObject(done({ rejected: 0 }));
  expect(await differences(rig)).toEqual([]);
  const stored = await rig.rows<{ name: string }>(
    `select name from tracker.fields where id like 'customfield_2000%' order by id`,
  );
  expect(stored.map((one) => one.name)).toEqual(names);
});

test('V11: a field that changes its type is null with the reason while it is odd, and itself again afterwards', async () => {
  const [id = ''] = await open();
  const { state, clock } = rig.tracker;
  for (const json of ['5', '"five"', '[5]', '{"value":5}', 'null', 'true', '5']) {
    clock.advance(60_000);
    state.setRaw(id, 'customfield_10016', json);
    expect(await rig.sync(issues)).toMatchObject({ status: 'succeeded' });
    const row = await issue(id);
    expect({ json, points: row?.story_points }).toEqual({ json, points: json === '5' ? 5 : null });
    if (json !== '5' && json !== 'null')
      expect(JSON.stringify([row?._extra, row?.custom_fields])).toContain('customfield_10016');
  }
  expect(
    (await rig.rows("select 1 from ops.schema_changes where note like '%customfield_10016%'")).length,
  ).toBeGreaterThan(0);
});

describe('V11: a list of an issue that cannot be read, or not to its end, takes no row of it away', () => {
  const sprint = { id: 1, name: 'One', state: 'active' };
  const lists = [
    ['issue_labels', 'labels', ['here', 'there'], ['here', 5]],
    ['issue_labels', 'labels', ['here', 'there'], { here: true }],
    ['issue_components', 'components', [{ id: '1' }, { id: '2' }], [{ id: '1' }, 'two']],
    ['issue_versions', 'fixVersions', [{ id: '1' }, { id: '2' }], [{ id: { odd: true } }, { id: '2' }]],
    ['issue_versions', 'versions', [{ id: '1' }, { id: '2' }], 'two'],
    [
      'issue_links',
      'issuelinks',
      [
        { id: '1', outwardIssue: { id: '7', key: 'PAY-7' } },
        { id: '2', inwardIssue: { id: '8', key: 'PAY-8' } },
      ],
      [
        { id: '1', outwardIssue: { id: '7', key: 'PAY-7' } },
        { id: '2', inwardIssue: 'PAY-8' },
      ],
    ],
    ['issue_sprints', 'customfield_10020', [sprint, { ...sprint, id: 2 }], [sprint, 'Two']],
    ['issue_sprints', 'customfield_10020', [sprint, { ...sprint, id: 2 }], 'One'],
  ] as const;

  test('each in an issue of its own', async () => {
    const ids = await open();
    const { state, clock } = rig.tracker;
    const sync = async (next: (list: (typeof lists)[number]) => unknown): Promise<readonly number[]> => {
      clock.advance(60_000);
      for (const [at, list] of lists.entries())
        state.setRaw(ids[at] ?? '', list[1], JSON.stringify(next(list)));
      expect(await rig.sync(issues)).toMatchObject(done({ rejected: 0 }));
      const counts = lists.map(
        async ([table], at) =>
          (await rig.rows(`select 1 from tracker.${table} where issue_id = $1`, [ids[at]])).length,
      );
      return Promise.all(counts);
    };
    const before = await sync(([, , good]) => good);
    for (const count of before) expect(count).toBeGreaterThanOrEqual(2);
    expect(await sync(([, , , odd]) => odd)).toEqual(before);
    for (const at of lists.keys())
      expect(JSON.stringify((await issue(ids[at] ?? ''))?._extra)).toContain('_reason');
    // What is not there any more goes when the list can be read again.
    expect(await sync(() => [])).toEqual(before.map((count) => count - 2));
  });
});

describe('V14: a run bears ten rejects, and 1 % of its records', () => {
  const poison = (ids: readonly string[], json: string | undefined): void =>
    setEach(
      ids,
      'created',
      ids.map(() => json),
    );
  const openMany = async (issues: number) => (await open({ issues, history: 1 })).toSorted((a, b) => +a - +b);

  test.each([
    ['ten of a few', 60, (place: number) => place < 10],
    ['1 % of many', 1_200, (place: number) => place % 100 === 99],
  ])('%s are borne', async (_, count, isPoisoned) => {
    const ids = (await openMany(count)).filter((_id, place) => isPoisoned(place));
    poison(ids, '"now"');
    expect(await rig.sync(issues)).toMatchObject(done({ received: count, rejected: ids.length }));
    expect(await rig.rows('select 1 from ops.checkpoints')).toHaveLength(1);
  });

  test.each([
    ['eleven', 11],
    ['all', 300],
  ])(
    '%s of 300 are not: the run fails, the checkpoint stays, everything is in ops.rejects or in its table',
    async (_, count) => {
      const ids = (await openMany(300)).slice(0, count);
      poison(ids, '"now"');
      expect(await rig.sync(issues)).toMatchObject({ status: 'failed', error: { code: 'too_many_rejects' } });
      expect(await rig.rows('select 1 from ops.checkpoints')).toEqual([]);
      expect(await rejects()).toHaveLength(count);
      rig.tracker.clock.advance(60_000);
      poison(ids, undefined);
      expect(await rig.sync(issues)).toMatchObject(done({ rejected: 0 }));
      expect(await rig.rows('select 1 from ops.checkpoints')).toHaveLength(1);
      expect((await rejects()).filter((one) => one.status === 'open')).toEqual([]);
      expect(await differences(rig, { issuesOnly: true })).toEqual([]);
    },
  );
});

test('V1: a NUL in a name is stored as U+FFFD, its exact text in _extra, in every stream with names', async () => {
  await open();
  const { state } = rig.tracker;
  const odd = 'odd \u0000 name';
  state.updateProject('PAY', { name: odd });
  state.addUser({ displayName: odd });
  state.addSprint(1, { name: odd });
  state.addField({ id: 'customfield_30000', name: odd, custom: true, schema: { type: 'string' } });
  state.boards.set(99, { id: 99, name: odd, type: 'kanban', projectId: '10000', shows: [] });
  const streams = ['boards', 'projects', 'users', 'sprints', 'fields'];
  expect(await rig.sync({ streams })).toMatchObject(done({ rejected: 0 }));
  for (const stream of streams) {
    const column = stream === 'users' ? 'display_name' : 'name';
    const kept = await rig.rows<{ exact: string }>(
      `select _extra -> '_exact_text' ->> '${column}' as exact from tracker.${stream} where ${column} = $1`,
      [odd.replace('\0', '\ufffd')],
    );
    expect(
      kept.map(({ exact }) => JSON.parse(exact)),
      stream,
    ).toEqual([odd]);
  }
});

describe('V11: a relation whose list has a record that cannot be read', () => {
  test.each([
    ['group_members', '/rest/api/3/group/member', 'accountId'],
    ['board_sprints', '/rest/agile/1.0/board/{boardId}/sprint', 'id'],
    ['sprint_issues', '/rest/agile/1.0/sprint/{sprintId}/issue', 'id'],
  ])('%s: takes no row away, and says so', async (stream, endpoint, name) => {
    await open();
    await rig.sync();
    const rows = () => rig.rows<{ row: string }>(`select t::text as row from tracker.${stream} t order by 1`);
    const before = await rows();
    expect(before.length).toBeGreaterThan(0);
    let spoilt = 0;
    const odd = rig.tracker.script.at(
      { endpoint, ...always },
      {
        name: 'an odd id',
        answer: (answer) => {
          const body = JSON.parse(answer.body.toString());
          const [first] = body.values ?? body.issues ?? [];
          if (first === undefined || spoilt > 0) return answer;
          spoilt += 1;
          first[name] = { odd: true };
          return { ...answer, body: Buffer.from(JSON.stringify(body)) };
        },
      },
    );
    const report = await rig.sync({ streams: [stream] });
    expect(spoilt).toBe(1);
    expect(report).toMatchObject({ status: 'succeeded', deleted: 0, counts: { rejected: 1 } });
    expect(await rows()).toEqual(before);
    expect(rig.events).toContainEqual(
      expect.objectContaining({
        type: 'note',
        message: expect.stringContaining(`${stream}: 1 row not in the list stay`),
      }),
    );
    odd.cancel();
    expect(await rig.sync({ streams: [stream] })).toMatchObject({ status: 'succeeded', deleted: 0 });
    expect(await rows()).toEqual(before);
    expect(await rejectStates()).toEqual(['resolved']);
  });
});

describe('V15: a reject of a list that is read whole', () => {
  /** Puts an odd record into a list of the tracker, in place of a good one or behind all. */
  const spoil = (endpoint: string, key: string | undefined, odd: (records: unknown[]) => unknown[]) =>
    rig.tracker.script.at(
      { endpoint, ...always },
      {
        name: 'an odd record',
        answer: (answer) => {
          const body = JSON.parse(answer.body.toString());
          const records = odd(key === undefined ? body : body[key]);
          const whole = key === undefined ? records : { ...body, [key]: records, total: records.length };
          return { ...answer, body: Buffer.from(JSON.stringify(whole)) };
        },
      },
    );
  const isMended = (records: unknown[]) => [null, ...records.slice(1)];
  const isGone = (records: unknown[]) => [...records, { id: '99999', key: 'ODD', name: 5 }];

  test.each([
    ['projects', 'a record without a name that is mended', '/rest/api/3/project/search', 'values', isMended],
    ['projects', 'a record that is gone', '/rest/api/3/project/search', 'values', isGone],
    ['statuses', 'a record without a name that is mended', '/rest/api/3/status', undefined, isMended],
    ['fields', 'a record without a name that is mended', '/rest/api/3/field/search', 'values', isMended],
  ] as const)('%s: of %s is resolved', async (stream, _, endpoint, key, odd) => {
    await open();
    const spoilt = spoil(endpoint, key, odd);
    const only = { streams: [stream] };
    for (const _run of [1, 2]) expect((await rig.sync(only)).counts.rejected).toBeGreaterThan(0);
    expect(await rejectStates()).toEqual(['open']);
    spoilt.cancel();
    expect(await rig.sync(only)).toMatchObject(done({ rejected: 0 }));
    expect(await rejectStates()).toEqual(['resolved']);
  });

  test('stays open while one of the two lists of fields is closed to us: it may be in that one', async () => {
    await open();
    const spoilt = spoil('/rest/api/3/field/search', 'values', isMended);
    const only = { streams: ['fields'] };
    expect((await rig.sync(only)).counts.rejected).toBeGreaterThan(0);
    spoilt.cancel();
    const closed = rig.tracker.script.at({ endpoint: '/rest/api/3/field/search', ...always }, status(403));
    expect(await rig.sync(only)).toMatchObject({ counts: { rejected: 0 } });
    expect(await rejectStates()).toEqual(['open']);
    closed.cancel();
    await rig.sync(only);
    expect(await rejectStates()).toEqual(['resolved']);
  });
});

describe('words of the source that no text column takes', () => {
  test.each([
    ['a stream whose list is refused', '/rest/api/3/project/search', 400],
    ['a stream that is closed', '/rest/api/3/project/search', 403],
    ['a slice', '/rest/api/3/search/jql', 400],
  ])(
    'V1: a NUL in the message that ends %s harms no record of it, and the run has a true end',
    async (_, endpoint, code) => {
      await open();
      const body = JSON.stringify({ errorMessages: ['half\0way and \ud800 half a pair'] });
      const refused = rig.tracker.script.at({ endpoint, ...always }, status(code, { body }));
      const report = await rig.sync({ streams: ['projects', 'issues'] });
      expect(refused.fired).toBeGreaterThan(0);
      expect(report.status).toMatch(/^(partly_failed|failed|succeeded)$/);
      expect(await rig.rows('select status from ops.runs')).toEqual([{ status: report.status }]);
      const said = await rig.rows<{ words: string }>(
        `select coalesce(string_agg(words, ' '), '') as words from (
         select reason as words from ops.run_streams union all select error_message from ops.slices) told`,
      );
      expect(said[0]?.words).toMatch(/half.{1,4}way/);
      refused.cancel();
      rig.tracker.clock.advance(60_000);
      expect((await rig.sync(issues)).status).toBe('succeeded');
      expect(await differences(rig, { issuesOnly: true })).toEqual([]);
    },
  );

  test('V1: a NUL in a page token that comes again is written out in the error that names it', async () => {
    await open();
    const body = JSON.stringify({ issues: [], isLast: false, nextPageToken: 'round\0about' });
    const search = { endpoint: '/rest/api/3/search/jql', ...always };
    const circling = rig.tracker.script.at(search, status(200, { body }));
    const report = await rig.sync(issues);
    expect(circling.fired).toBeGreaterThan(1);
    expect(report.status).not.toBe('succeeded');
    const kept = await rig.rows<{ error_message: string }>(
      'select distinct error_message from ops.slices where error_message is not null',
    );
    expect(kept.length).toBeGreaterThan(0);
    for (const { error_message } of kept) expect(error_message).not.toContain('\0');
  });
});
