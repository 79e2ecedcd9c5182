import { describe, expect, it } from 'vitest';
import { status, total } from '../../../../simulators/shared/faults.ts';
import { systemFields } from '../../../../src/connectors/jira/transform/field-catalogue.ts';
import { AuthFailed, Forbidden, Missing } from '../../../../src/core/errors.ts';
import { type Opened, opened } from './opened.ts';

const dialects = [
  ['the contract', { dialect: 'contract' }],
  ['the contract and nothing else', { dialect: 'contract', bare: true }],
  ['the vendor', { dialect: 'vendor' }],
] as const;

describe.each(dialects)('against %s', (_, options) => {
  const vendor = options.dialect === 'vendor';
  const bare = 'bare' in options;

  it('an issue exists until it is deleted', async () => {
    const tracker = await opened(options);
    const stream = tracker.flow('issues');
    const [id = ''] = tracker.simulator.oracle().issues.keys();
    // A server that cannot be asked for one issue says "no" of every one: the canary of the same project does, too.
    expect(await stream.exists?.(id, tracker.signal)).toBe(!bare);
    tracker.simulator.state.delete(id);
    expect(await stream.exists?.(id, tracker.signal)).toBe(false);
  });

  it('preflight says who we are and what the server speaks, and gives its clock', async () => {
    const tracker = await opened(options);
    const { clock, account, dialect } = await tracker.source.preflight(tracker.signal);
    expect(clock).toEqual(new Date('2025-03-10T12:00:00Z'));
    expect(account).toBe(bare ? undefined : tracker.simulator.email);
    expect(dialect).toContain(
      vendor ? 'search: page tokens, no totals' : 'search: offset paging with totals',
    );
    expect(dialect).toContain(bare ? 'changelog: not given by the search' : 'changelog: with its issue');
  });
});

describe('what entities’ existence is asked of', () => {
  it('is one request each, and answered by any entity of the site', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const { projects, boards, users } = tracker.simulator.oracle();
    const some = { projects: projects[0]?.id, boards: boards[0]?.id, users: users[0]?.accountId };
    for (const [name, key] of Object.entries(some)) {
      const exists = (id: string) => tracker.flow(name).exists?.(id, tracker.signal);
      const before = tracker.simulator.log.length;
      expect([name, await exists(String(key))]).toEqual([name, true]);
      expect(tracker.simulator.log.length - before).toBe(1);
      expect(await exists('99999999')).toBe(false);
    }
  });

  it('is no reason to believe anything while the credentials do not hold', async () => {
    const tracker = await opened({ dialect: 'vendor' }, { email: 'somebody@example.com' });
    const [id = ''] = tracker.simulator.oracle().issues.keys();
    await expect(tracker.flow('issues').exists?.(id, tracker.signal)).rejects.toThrow(AuthFailed);
  });

  it('is not answered by an error of the server', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const [id = ''] = tracker.simulator.oracle().issues.keys();
    const ofIt = ({ path }: { readonly path: string }) => path.endsWith(id);
    const rule = tracker.simulator.script.at(
      { endpoint: '/rest/api/3/issue/{id}', match: ofIt, times: Infinity },
      status(403),
    );
    await expect(tracker.flow('issues').exists?.(id, tracker.signal)).rejects.toThrow(Forbidden);
    expect(rule.fired).toBe(1);
  });
});

describe('fields', () => {
  const search = '/rest/api/3/field/search';
  const plain = '/rest/api/3/field';
  const listing = (fields: readonly object[]) => status(200, { body: JSON.stringify(fields) });
  const asked = (tracker: Opened) => tracker.searches().at(-1)?.fields;

  it('name what is asked of each issue: the system’s own and every custom one, of single projects, too', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const own = tracker.simulator.oracle().fields.filter((field) => field.scope !== undefined);
    expect(own.map(({ id }) => id)).toEqual(['customfield_10044']);
    tracker.simulator.state.update('10050', { custom: { customfield_10044: 'high' } });
    const { rows } = await tracker.read('issues');
    const custom = tracker.simulator.oracle().fields.filter((field) => field.custom);
    expect(custom.length).toBeGreaterThan(5);
    expect(asked(tracker)).toEqual([...systemFields, ...custom.map(({ id }) => id)]);
    expect(rows.find((row) => String(row.id) === '10050')?.custom_fields).toContain(
      '"customfield_10044":"high"',
    );
  });

  it('are those of both lists, each once, as the search of fields tells it', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const { ids, rows, end } = await tracker.read('fields');
    const truth = tracker.simulator.oracle().fields.map(({ id }) => id);
    expect(ids).toEqual(truth);
    expect(end).toMatchObject({ expected: truth.length, fetched: truth.length, matched: true });
    const [own] = rows.slice(-1);
    expect(own).toMatchObject({ id: 'customfield_10044', name: 'Risk', custom: true });
    expect(JSON.parse(String(own?._extra))).toEqual({ scope: { type: 'PROJECT', project: { id: '10002' } } });
    expect(rows.slice(0, -1).map((row) => row.description)).toEqual(truth.slice(1).map(() => ''));
  });

  it('that no rule of the vendor makes custom are asked for where the server lists them, and their values land', async () => {
    const tracker = await opened({ bare: true });
    tracker.simulator.script.at(
      { endpoint: search, times: Infinity },
      status(200, {
        body: JSON.stringify({
          isLast: true,
          values: [
            { id: 'summary', name: 'Summary' },
            { id: 'team', name: 'Team' },
            { id: 'sprint', name: 'Sprint' },
            { id: 'rank', name: 'Rank', schema: { type: 'string', system: 'rank' } },
            { id: 'secret', name: 'Secret', custom: false },
          ],
        }),
      }),
    );
    tracker.simulator.state.setRaw('10050', 'team', '{"name":"Blue"}');
    tracker.simulator.state.setRaw('10050', 'sprint', '{"id":7,"name":"Sprint 7","state":"active"}');
    const { rows, children } = await tracker.read('issues');
    expect(asked(tracker)).toEqual([...systemFields, 'team', 'sprint']);
    const place = rows.findIndex((row) => String(row.id) === '10050');
    expect(rows[place]?.custom_fields).toBe('{"team":{"name":"Blue"}}');
    expect(children[place]?.sprints).toMatchObject([{ sprint_id: 7, name: 'Sprint 7' }]);
  });

  it.each([403, 404])('come from the plain list where their search answers %i', async (code) => {
    const tracker = await opened({ dialect: 'vendor' });
    const shut = tracker.simulator.script.at({ endpoint: search, times: Infinity }, status(code));
    const open = tracker.simulator.script.at(
      { endpoint: plain, times: Infinity },
      listing([{ id: 'customfield_1', name: 'Ours', custom: true, schema: { type: 'string' } }]),
    );
    expect((await tracker.read('fields')).ids).toEqual(['customfield_1']);
    await tracker.read('issues');
    expect(asked(tracker)).toEqual([...systemFields, 'customfield_1']);
    expect([shut.fired > 0, open.fired > 0]).toEqual([true, true]);
  });

  it.each([403, 404, 400])('come from their search alone where the plain list answers %i', async (code) => {
    const tracker = await opened({ dialect: 'vendor' });
    const shut = tracker.simulator.script.at({ endpoint: plain, times: Infinity }, status(code));
    const shared = tracker.simulator.oracle().fields.filter(({ scope }) => scope === undefined);
    expect((await tracker.read('fields')).ids).toEqual(shared.map(({ id }) => id));
    expect(shut.fired).toBe(1);
  });

  it('are not taken for complete where the plain list fails otherwise', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const broken = tracker.simulator.script.at({ endpoint: plain, times: Infinity }, status(500));
    expect((await tracker.read('fields')).end.matched).toBe(false);
    // There may be others than those of the search: all are asked for.
    await tracker.read('issues');
    expect(asked(tracker)).toEqual(expect.arrayContaining(['*all', ...systemFields]));
    expect(broken.fired).toBeGreaterThan(1);
  });

  it('that cannot be read are asked for all at once', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const shut = tracker.simulator.script.at({ endpoint: search, times: Infinity }, status(403));
    tracker.simulator.script.at({ endpoint: plain, times: Infinity }, status(404));
    await expect(tracker.read('fields')).rejects.toThrow(Forbidden);
    const { rows } = await tracker.read('issues');
    expect(asked(tracker)).toEqual(['*all', ...systemFields]);
    expect(rows.some((row) => row.custom_fields !== '{}')).toBe(true);
    expect(shut.fired).toBeGreaterThan(1);
  });

  it('whose list does not add up are asked for all at once, and mean what is known of them', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const lying = tracker.simulator.script.at(
      { endpoint: search, times: Infinity },
      total((stated) => stated + 3),
    );
    const { rows } = await tracker.read('issues');
    // By their names as well: a server need not know the word for all.
    const known = tracker.simulator
      .oracle()
      .fields.filter(({ custom, scope }) => custom && scope === undefined);
    expect(asked(tracker)).toEqual(
      expect.arrayContaining(['*all', ...systemFields, ...known.map(({ id }) => id)]),
    );
    expect(rows.some((row) => row.story_points !== null)).toBe(true);
    expect((await tracker.source.preflight(tracker.signal)).dialect).toContain(
      'fields: all (the server has no complete list of them)',
    );
    expect(lying.fired).toBeGreaterThan(1);
  });

  it('are read by offset with a seam where nextPage only counts on: one that moves while they are read is not lost', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const { fields } = tracker.simulator.state;
    tracker.simulator.script.at({ endpoint: plain, times: Infinity }, status(404));
    // One goes from before the walk and another comes at the end: the total stays, and what stood between moves by one.
    tracker.simulator.script.at(
      { endpoint: search, match: ({ query }) => query.startAt !== undefined },
      ({ state }) => {
        fields.delete('environment');
        state.addField({ id: 'customfield_1', name: 'New', custom: true, schema: { type: 'string' } });
      },
    );
    const { ids } = await tracker.read('fields');
    const truth = tracker.simulator.oracle().fields.filter(({ scope }) => scope === undefined);
    expect(ids).toEqual(expect.arrayContaining(truth.map(({ id }) => id)));
  });

  it('must be known before an issue becomes rows', async () => {
    const tracker = await opened();
    expect(() => tracker.flow('issues').transform({}, {})).toThrow('preflight');
  });
});

describe('groups', () => {
  it('without a list at the server and without names are not there, and the reason says what to do', async () => {
    const tracker = await opened({ bare: true });
    await expect(tracker.read('groups')).rejects.toThrow(Missing);
    await expect(tracker.read('groups')).rejects.toThrow('TRACKER_GROUPS');
  });

  it('that may not be listed are closed, and the reason says what to do', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const shut = tracker.simulator.script.at(
      { endpoint: '/rest/api/3/group/bulk', times: Infinity },
      status(403),
    );
    await expect(tracker.read('groups')).rejects.toThrow(Forbidden);
    await expect(tracker.read('groups')).rejects.toThrow(/"Browse users and groups".*TRACKER_GROUPS/);
    expect(shut.fired).toBe(2);
  });
});

describe('users', () => {
  it.each(['contract', 'vendor'] as const)(
    'of a %s that may not be listed are closed, and the reason says what is missing',
    async (dialect) => {
      const tracker = await opened({ dialect });
      const shut = tracker.simulator.script.at(
        { match: ({ path }) => /users?\/search$/.test(path), times: Infinity },
        status(403),
      );
      await expect(tracker.read('users')).rejects.toThrow(Forbidden);
      await expect(tracker.read('users')).rejects.toThrow(
        /^GET \/rest\/api\/3\/users?\/search answered 403.*"Browse users and groups"/,
      );
      expect(shut.fired).toBeGreaterThan(1);
    },
  );

  it('that may not be listed are not none because a search finds none: to whom lacks the permission the vendor finds nobody', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const shut = tracker.simulator.script.at(
      { endpoint: '/rest/api/3/users/search', times: Infinity },
      status(403),
    );
    const nobody = tracker.simulator.script.at(
      { endpoint: '/rest/api/3/user/search', times: Infinity },
      status(200, { body: '[]' }),
    );
    await expect(tracker.read('users')).rejects.toThrow(
      /users\/search answered 403.*"Browse users and groups"/,
    );
    expect([shut.fired, nobody.fired]).toEqual([1, 1]);
  });
});

describe('answers that are not lists', () => {
  it.each(['projects', 'boards', 'users', 'statuses'])('never count as an empty list of %s', async (name) => {
    const tracker = await opened({ dialect: 'vendor' });
    const bad = tracker.simulator.script.at(
      { times: Infinity },
      status(200, { body: '{"errorMessages":["not today"],"errors":{}}' }),
    );
    await expect(tracker.read(name)).rejects.toThrow('no list');
    expect(bad.fired).toBeGreaterThan(0);
  });
});

it('no more requests a second are sent than TRACKER_REQUESTS_PER_SECOND allows', async () => {
  const tracker = await opened({ issues: 1 }, { requestsPerSecond: 2 });
  await Promise.all(['projects', 'priorities', 'statuses'].map((name) => tracker.read(name)));
  // Sent at once, the second and the third wait half a second each.
  expect(tracker.source.http.counters.throttledMs).toBeGreaterThan(500);
});
