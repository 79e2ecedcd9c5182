import { describe, expect, it } from 'vitest';
import { status, total } from '../../../../simulators/shared/faults.ts';
import type { When } from '../../../../simulators/shared/script.ts';
import { openSource } from '../../../../src/connectors/connector.ts';
import { cheapest } from '../../../../src/connectors/jira/account.ts';
import { systemFields } from '../../../../src/connectors/jira/transform/field-catalogue.ts';
import { AuthFailed, Forbidden, Missing } from '../../../../src/core/errors.ts';
import { basic } from '../../../../src/http/auth.ts';
import { configOf } from '../../../support/config.ts';
import { dialects } from '../../../support/small-site.ts';
import { now, type Opened, opened } from './opened.ts';

/** A tracker of the vendor's dialect that answers an endpoint always with this status. */
const closed = async (when: When, code: number, body?: string) => {
  const tracker = await opened({ dialect: 'vendor', issues: 60 });
  const answer = status(code, body === undefined ? {} : { body });
  return { tracker, rule: tracker.simulator.script.at({ ...when, times: Infinity }, answer) };
};

const listing = (body: unknown) => status(200, { body: JSON.stringify(body) });

describe.each(dialects)('a tracker of the dialect $name', ({ name, options: { dialect }, bare }) => {
  const options = { dialect, bare };
  const title = {
    vendor: 'Jira Cloud',
    contract: 'Jira Cloud',
    'Data Center': 'Jira Data Center 9.12.4',
    'bare contract': 'a tracker that does not say what it is',
  }[name];

  it('is found by preflight: its account, its dialect, its clock; it answers 404 for a deleted issue', async () => {
    const tracker = await opened(options);
    const found = await tracker.source.preflight(tracker.signal);
    expect(found.clock).toEqual(now);
    expect(found.account).toBe(bare ? undefined : tracker.simulator.email);
    const search = dialect === 'vendor' ? 'page tokens, no totals' : 'offset paging with totals';
    const changelog = bare ? 'not given by the search' : 'with its issue';
    expect(found.dialect).toEqual(
      expect.arrayContaining([`server: ${title}`, `search: ${search}`, `changelog: ${changelog}`]),
    );
    const { exists } = tracker.flow('issues');
    const [id = ''] = tracker.simulator.oracle().issues.keys();
    // A server without single issues answers 404 for every one.
    expect(await exists?.(id, tracker.signal)).toBe(!bare);
    tracker.simulator.state.delete(id);
    expect(await exists?.(id, tracker.signal)).toBe(false);
  });
});

describe('existence of an entity', () => {
  it('is one request each', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const { projects, boards, users } = tracker.simulator.oracle();
    const some = { projects: projects[0]?.id, boards: boards[0]?.id, users: users[0]?.accountId };
    for (const [name, key] of Object.entries(some)) {
      const exists = (id: string) => tracker.flow(name).exists?.(id, tracker.signal);
      await tracker.source.preflight(tracker.signal);
      const before = tracker.simulator.log.length;
      expect([name, await exists(String(key))]).toEqual([name, true]);
      expect(tracker.simulator.log.length - before).toBe(1);
      expect(await exists('99999999')).toBe(false);
    }
  });

  it('is not concluded from wrong credentials or a 403', async () => {
    const auth = basic('somebody@example.com', { reveal: () => 'a-token' });
    const stranger = await opened({ dialect: 'vendor' }, { auth });
    const [id = ''] = stranger.simulator.oracle().issues.keys();
    await expect(stranger.flow('issues').exists?.(id, stranger.signal)).rejects.toThrow(AuthFailed);
    const ofIt = ({ path }: { readonly path: string }) => path.endsWith(id);
    const { tracker, rule } = await closed({ endpoint: '/rest/api/3/issue/{id}', match: ofIt }, 403);
    await expect(tracker.flow('issues').exists?.(id, tracker.signal)).rejects.toThrow(Forbidden);
    expect(rule.fired).toBe(1);
  });
});

describe('fields', () => {
  const search = '/rest/api/3/field/search';
  const plain = '/rest/api/3/field';
  const requested = (tracker: Opened) => tracker.searches().at(-1)?.fields;
  /** The ids of all fields but those of single projects, which the plain list alone has. */
  const shared = (tracker: Opened) =>
    tracker.simulator.oracle().fields.flatMap(({ id, scope }) => (scope === undefined ? [id] : []));

  it('of each issue are the system fields and every custom one, also those of single projects', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const { fields } = tracker.simulator.oracle();
    expect(fields.filter(({ scope }) => scope !== undefined).map(({ id }) => id)).toEqual([
      'customfield_10044',
    ]);
    tracker.simulator.state.update('10050', { custom: { customfield_10044: 'high' } });
    const { rows } = await tracker.read('issues');
    const custom = fields.filter((field) => field.custom).map(({ id }) => id);
    expect(custom.length).toBeGreaterThan(5);
    expect(requested(tracker)).toEqual([...systemFields, ...custom]);
    const row = rows.find(({ id }) => String(id) === '10050');
    expect(row?.custom_fields).toContain('"customfield_10044":"high"');
  });

  it('are those of both lists, each once', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const { ids, rows, end } = await tracker.read('fields');
    const truth = tracker.simulator.oracle().fields.map(({ id }) => id);
    expect(ids).toEqual(truth);
    expect(end).toMatchObject({ expected: truth.length, read: truth.length, matched: true });
    const own = rows.at(-1);
    expect(own).toMatchObject({ id: 'customfield_10044', name: 'Risk', custom: true });
    expect(JSON.parse(String(own?._extra))).toEqual({ scope: { type: 'PROJECT', project: { id: '10002' } } });
    expect(rows.slice(0, -1).map((row) => row.description)).toEqual(truth.slice(1).map(() => ''));
  });

  // The vendor's OpenAPI has no `untranslatedName` in the search; reports show it in the plain list.
  it('have the English name of the plain list beside the translated one of the search', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const ours = { id: 'customfield_1', name: 'ポイント', schema: { type: 'number' } };
    const values = [ours];
    const both = { custom: true, ...ours, untranslatedName: 'Story Points' };
    const { script } = tracker.simulator;
    script.at({ endpoint: search, times: Infinity }, listing({ isLast: true, total: 1, values }));
    script.at({ endpoint: plain, times: Infinity }, listing([both]));
    const { rows } = await tracker.read('fields');
    expect(rows).toMatchObject([
      { name: 'ポイント', untranslated_name: 'Story Points', role: 'story_points', _extra: null },
    ]);
  });

  it('without a sign of the vendor that they are custom are requested where the server lists them', async () => {
    const tracker = await opened({ bare: true });
    const values = [
      { id: 'summary', name: 'Summary' },
      { id: 'team', name: 'Team' },
      { id: 'sprint', name: 'Sprint' },
      { id: 'rank', name: 'Rank', schema: { type: 'string', system: 'rank' } },
      { id: 'secret', name: 'Secret', custom: false },
    ];
    tracker.simulator.script.at({ endpoint: search, times: Infinity }, listing({ isLast: true, values }));
    tracker.simulator.state.setRaw('10050', 'team', '{"name":"Blue"}');
    tracker.simulator.state.setRaw('10050', 'sprint', '{"id":7,"name":"Sprint 7","state":"active"}');
    const { rows, children } = await tracker.read('issues');
    expect(requested(tracker)).toEqual([...systemFields, 'team', 'sprint']);
    const n = rows.findIndex((row) => String(row.id) === '10050');
    expect(rows[n]?.custom_fields).toBe('{"team":{"name":"Blue"}}');
    expect(children[n]?.sprints).toMatchObject([{ sprint_id: 7, name: 'Sprint 7' }]);
  });

  it.each([403, 404])('come from the plain list where their search answers %i', async (code) => {
    const { tracker, rule } = await closed({ endpoint: search }, code);
    const ours = [{ id: 'customfield_1', name: 'Ours', custom: true, schema: { type: 'string' } }];
    tracker.simulator.script.at({ endpoint: plain, times: Infinity }, listing(ours));
    expect((await tracker.read('fields')).ids).toEqual(['customfield_1']);
    await tracker.read('issues');
    expect(requested(tracker)).toEqual([...systemFields, 'customfield_1']);
    expect(rule.fired).toBeGreaterThan(0);
  });

  it.each([403, 404, 400])('come from their search alone where the plain list answers %i', async (code) => {
    const { tracker, rule } = await closed({ endpoint: plain }, code);
    expect((await tracker.read('fields')).ids).toEqual(shared(tracker));
    expect(rule.fired).toBe(1);
  });

  it('are all requested where the plain list answers 500, or no list can be read', async () => {
    const failing = await closed({ endpoint: plain }, 500);
    expect((await failing.tracker.read('fields')).end.matched).toBe(false);
    await failing.tracker.read('issues');
    expect(requested(failing.tracker)).toEqual(expect.arrayContaining(['*all', ...systemFields]));
    expect(failing.rule.fired).toBeGreaterThan(1);
    const { tracker } = await closed({ endpoint: search }, 403);
    tracker.simulator.script.at({ endpoint: plain, times: Infinity }, status(404));
    await expect(tracker.read('fields')).rejects.toThrow(Forbidden);
    const { rows } = await tracker.read('issues');
    expect(requested(tracker)).toEqual(['*all', ...systemFields]);
    expect(rows.some((row) => row.custom_fields !== '{}')).toBe(true);
  });

  it('are all requested, and by their names, where their list does not add up', async () => {
    const tracker = await opened({ dialect: 'vendor' });
    const larger = total((stated) => stated + 3);
    const rule = tracker.simulator.script.at({ endpoint: search, times: Infinity }, larger);
    const { rows } = await tracker.read('issues');
    const custom = shared(tracker).filter((id) => id.startsWith('customfield_'));
    expect(requested(tracker)).toEqual(expect.arrayContaining(['*all', ...systemFields, ...custom]));
    expect(rows.some((row) => row.story_points !== null)).toBe(true);
    const { dialect } = await tracker.source.preflight(tracker.signal);
    expect(dialect).toContain('fields: all (the server has no complete list of them)');
    expect(rule.fired).toBeGreaterThan(1);
  });

  it('are read by overlapping offsets where nextPage only counts: one that moves is not missed', async () => {
    const { tracker } = await closed({ endpoint: plain }, 404);
    const { fields } = tracker.simulator.state;
    // One before the offset is deleted and another comes at the end: the total stays.
    tracker.simulator.script.at(
      { endpoint: search, match: ({ query }) => query.startAt !== undefined },
      ({ state }) => {
        fields.delete('environment');
        state.addField({ id: 'customfield_1', name: 'New', custom: true, schema: { type: 'string' } });
      },
    );
    expect((await tracker.read('fields')).ids).toEqual(expect.arrayContaining(shared(tracker)));
  });

  it('must be read before an issue becomes rows', async () => {
    const tracker = await opened();
    expect(() => tracker.flow('issues').transform({}, {})).toThrow('preflight');
  });
});

describe('groups and users that may not be listed', () => {
  it('are missing where the server has no list, and the reason says what to do', async () => {
    const tracker = await opened({ bare: true });
    await expect(tracker.read('groups')).rejects.toThrow(Missing);
    await expect(tracker.read('groups')).rejects.toThrow('TRACKER_GROUPS');
  });

  it.each([
    ['groups', 'vendor', /group\/bulk$/, /"Browse users and groups".*TRACKER_GROUPS/],
    ['users', 'vendor', /users?\/search$/, /^GET \/rest\/api\/3\/users?\/search answered 403.*"Browse users/],
    [
      'users',
      'contract',
      /users?\/search$/,
      /^GET \/rest\/api\/3\/users?\/search answered 403.*"Browse users/,
    ],
  ] as const)(
    'are forbidden, and the reason says what is missing: %s of a %s',
    async (name, dialect, path, why) => {
      const tracker = await opened({ dialect, issues: 1 });
      const when = { match: (one: { readonly path: string }) => path.test(one.path), times: Infinity };
      const rule = tracker.simulator.script.at(when, status(403));
      await expect(tracker.read(name)).rejects.toThrow(Forbidden);
      await expect(tracker.read(name)).rejects.toThrow(why);
      expect(rule.fired).toBeGreaterThan(1);
    },
  );

  it('an empty user search does not prove that there are no users: without the permission the vendor lists none', async () => {
    const { tracker, rule } = await closed({ endpoint: '/rest/api/3/users/search' }, 403);
    const search = tracker.simulator.script.at({ endpoint: '/rest/api/3/user/search' }, listing([]));
    await expect(tracker.read('users')).rejects.toThrow(
      /users\/search answered 403.*"Browse users and groups"/,
    );
    expect([rule.fired, search.fired]).toEqual([1, 1]);
  });
});

it('an answer that is no list is no empty list', async () => {
  const match = ({ path }: { readonly path: string }) => !path.endsWith('/myself');
  const { tracker, rule } = await closed({ match }, 200, '{"errorMessages":["not today"],"errors":{}}');
  for (const name of ['projects', 'boards', 'users', 'statuses'])
    await expect(tracker.read(name)).rejects.toThrow('no list');
  expect(rule.fired).toBeGreaterThan(0);
});

it('no more requests a second are sent than TRACKER_REQUESTS_PER_SECOND allows', async () => {
  const { simulator, signal } = await opened({ issues: 1 });
  const { url, email, token } = simulator;
  const variables = { TRACKER_BASE_URL: url, TRACKER_EMAIL: email, TRACKER_API_TOKEN: token };
  const config = configOf({ ...variables, TRACKER_REQUESTS_PER_SECOND: '2' }, import.meta.dirname);
  const tracker = config.pipelines.find(({ name }) => name === 'tracker');
  if (tracker?.values === undefined) throw new Error('the tracker is not configured');
  const source = await openSource(tracker.connector, tracker.values, {
    pipeline: 'tracker',
    version: 'test',
    proxies: { except: [] },
    home: '',
    lock: async () => ({ release: () => undefined }),
  });
  await Promise.all([1, 2, 3].map(() => source.http.send(cheapest, signal)));
  // Sent together, the second and the third wait half a second each.
  expect(source.http.counters.throttledMs).toBeGreaterThan(500);
  await source.close();
});
