import { afterEach, describe, expect, test } from 'vitest';
import { Interrupted } from '../../../src/core/errors.ts';
import type { Budget, HttpEvent, HttpOptions, Rate } from '../../../src/http/http-options.ts';
import { rateLimit } from '../../../src/http/rate-limit.ts';
import type { Time } from '../../../src/http/with-retry.ts';
import { budgetsOf } from '../../../src/warehouse/budgets.ts';
import { connect } from '../../../src/warehouse/connect.ts';
import { get, httpTo } from '../../support/http-to.ts';
import * as play from '../../support/misbehaving-server.ts';
import { testDatabase } from '../../support/postgres.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
const never = new AbortController().signal;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Time that passes only while everybody waits for it, from one to the next who does. */
const virtualTime = () => {
  let now = 1000;
  const waiting = new Set<{ readonly at: number; readonly wake: () => void }>();
  const time: Time = {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        const one = { at: now + ms, wake: resolve };
        waiting.add(one);
        signal.addEventListener('abort', () => {
          waiting.delete(one);
          reject(new Interrupted('asked to stop'));
        });
      }),
  };
  /** Until nobody waits for time any more. */
  const pass = async (): Promise<void> => {
    for (await settled(); waiting.size > 0; await settled()) {
      const [first] = [...waiting].sort((a, b) => a.at - b.at);
      if (first === undefined) return;
      now = first.at;
      waiting.delete(first);
      first.wake();
    }
  };
  return { time, pass, skip: (ms: number) => (now += ms) };
};

/** A budget as the warehouse keeps it, by the clock of the test. `broken`: its calls fail. */
const budgetBy = ({ now }: Time) => {
  const free = new Map<string, number>();
  const at = (key: string): number => free.get(key) ?? Number.NEGATIVE_INFINITY;
  const takes: number[] = [];
  const takenAt: number[] = [];
  const kept = { takes, takenAt, broken: false };
  const check = (): void => {
    if (kept.broken) throw new Error('the warehouse is away');
  };
  const budget: Budget = {
    async take(key, count, { perSecond, burst }) {
      check();
      takes.push(count);
      takenAt.push(now());
      const first = Math.max(at(key), now() - ((burst - 1) * 1000) / perSecond);
      free.set(key, first + (count * 1000) / perSecond);
      return first - now();
    },
    async pause(key, ms) {
      check();
      free.set(key, Math.max(at(key), now() + ms));
    },
    async pauses(source) {
      check();
      const isOwn = (key: string): boolean => key === source || key.startsWith(`${source} `);
      const own = [...free].filter(([key, until]) => isOwn(key) && until > now());
      return new Map(own.map(([key, until]) => [key, until - now()]));
    },
  };
  return Object.assign(kept, { budget });
};

type Counters = Parameters<typeof rateLimit>[3];

/** Limiters of several processes that share a budget, and what leaves them when. */
const processes = (many: number, rate: Partial<Rate> = {}) => {
  const clock = virtualTime();
  const shared = budgetBy(clock.time);
  const starts: (readonly [at: number, path: string])[] = [];
  const events: HttpEvent[] = [];
  const counters: Counters[] = [];
  const rates = [{ name: 'all', perSecond: 100, burst: 1, covers: () => true, ...rate }];
  const limiters = Array.from({ length: many }, () => {
    const own: Counters = { throttledMs: 0, quiet: [] };
    counters.push(own);
    return rateLimit(50, rates, clock.time, own, {
      budget: shared.budget,
      source: 'http://x',
      closing: never,
      wall: () => 0,
      observe: (event) => events.push(event),
    });
  });
  const from = clock.time.now();
  const send = (process: number, path = '/x', signal = never): Promise<void> | undefined =>
    limiters[process]?.run(get(path), signal, async () => void starts.push([clock.time.now() - from, path]));
  return { ...clock, shared, starts, events, counters, limiters, send };
};
const times = (count: number) => Array.from({ length: count }, (_, n) => n);

describe('a rate that is shared', () => {
  test('is kept by all processes together, and taken by the 100 ms', async () => {
    const { send, pass, starts, shared, counters } = processes(4, { burst: 5 });
    const all = times(80).map((n) => send(n % 4));
    await pass();
    await Promise.all(all);
    // The burst at once, then one every 10 ms.
    const expected = times(80).map((n) => Math.max(0, n - 4) * 10);
    expect(starts.map(([at]) => at)).toEqual(expected);
    expect(shared.takes).toEqual(times(8).map(() => 10));
    const sum = (list: readonly number[]): number => list.reduce((total, one) => total + one, 0);
    expect(sum(counters.map(({ throttledMs }) => throttledMs))).toBe(sum(expected));
  });

  test('is not taken beyond what waits', async () => {
    const { send, pass, starts, shared } = processes(2);
    for (const process of [0, 1, 0, 1]) {
      const sent = send(process);
      await pass();
      await sent;
    }
    expect(starts.map(([at]) => at)).toEqual([0, 10, 20, 30]);
    expect(shared.takes).toEqual([1, 1, 1, 1]);
  });

  test('what was taken and not used is lost: later it is taken anew', async () => {
    const { send, pass, skip, starts, shared } = processes(2);
    const stop = new AbortController();
    const left = times(9).map(() => send(0, '/left', stop.signal));
    const gone = Promise.allSettled(left);
    await settled();
    stop.abort();
    expect((await gone).filter(({ status }) => status === 'rejected')).toHaveLength(8);
    skip(5000);
    const all = times(6).map((n) => send(n % 2));
    await pass();
    await Promise.all(all);
    expect(shared.takes).toEqual([9, 3, 3]);
    expect(starts.map(([at]) => at)).toEqual([0, 5000, 5010, 5020, 5030, 5040, 5050]);
  });

  test('a process that stops waiting lets the next one of its own go', async () => {
    const { send, pass, starts } = processes(1);
    const stop = new AbortController();
    const first = send(0);
    const second = expect(send(0, '/second', stop.signal)).rejects.toThrow(Interrupted);
    const third = send(0, '/third');
    await settled();
    stop.abort();
    await second;
    await pass();
    await Promise.all([first, third]);
    expect(starts.map(([, path]) => path)).toEqual(['/x', '/third']);
  });

  test('where the budget fails, each process keeps to the rate by itself; that is noted once', async () => {
    const { send, pass, starts, shared, events } = processes(2, { burst: 2 });
    shared.broken = true;
    const alone = times(8).map((n) => send(n % 2));
    await pass();
    await Promise.all(alone);
    expect(starts.map(([at]) => at)).toEqual([0, 0, 10, 10, 20, 20, 30, 30]);
    const reason = 'the warehouse is away';
    const noted = { type: 'unshared', endpoint: 'http://x', reason };
    expect(events).toEqual([noted, noted]);
    shared.broken = false;
    const together = times(8).map((n) => send(n % 2));
    await pass();
    await Promise.all(together);
    expect(shared.takes).toEqual([4, 4]);
    expect(events).toHaveLength(2);
  });
});

describe('a pause', () => {
  test('that one process is told holds for all, and nothing is taken in it', async () => {
    const { send, pass, starts, limiters, counters, events, shared } = processes(3, { burst: 3 });
    limiters[0]?.pause(60_000);
    const all = times(6).map((n) => send(n % 3, `/${n}`));
    await pass();
    await Promise.all(all);
    expect(starts.map(([at]) => at)).toEqual([60_000, 60_000, 60_000, 60_010, 60_020, 60_030]);
    expect(Math.min(...shared.takenAt)).toBe(61_000);
    const quiet = [{ fromMs: 1000, untilMs: 61_000 }];
    expect(counters.map((each) => each.quiet)).toEqual([quiet, quiet, quiet]);
    expect(events).toContainEqual({
      type: 'throttled',
      endpoint: 'http://x',
      untilMs: 60_000,
      reason: 'asked for by the source, of this or of another process',
    });
  });

  test('that begins while a process waits for its places is kept', async () => {
    const { time, send, pass, starts, limiters } = processes(2, { perSecond: 2 });
    const all = times(4).map((n) => send(n % 2));
    const paused = time.sleep(700, never).then(() => limiters[0]?.pause(10_000));
    await pass();
    await Promise.all([...all, paused]);
    expect(starts.map(([at]) => at)).toEqual([0, 500, 10_700, 10_700]);
  });

  test('of an endpoint holds for that endpoint and method alone, in all processes', async () => {
    const { send, pass, starts, limiters, counters } = processes(2);
    limiters[0]?.pause(60_000, get('/slow'));
    const all = [send(0, '/slow'), send(1, '/slow'), send(0, '/fast'), send(1, '/fast')];
    limiters[1]?.pause(5_000, get('/fast', { method: 'POST' }));
    await pass();
    await Promise.all(all);
    expect(starts).toEqual([
      [0, '/fast'],
      [10, '/fast'],
      [60_000, '/slow'],
      [60_010, '/slow'],
    ]);
    expect(counters.map((each) => each.quiet)).toEqual([[], []]);
  });

  test('is looked for four times a second at most', async () => {
    const { send, pass, shared } = processes(1, { perSecond: 1000, burst: 1 });
    let looks = 0;
    const { pauses } = shared.budget;
    Object.assign(shared.budget, {
      pauses: (key: string) => {
        looks++;
        return pauses(key);
      },
    });
    const all = times(1001).map(() => send(0));
    await pass();
    await Promise.all(all);
    expect(looks).toBe(5);
  });
});

/** Answers 429 above its rate, as a token bucket does. */
const limited = async ({ perSecond, burst }: { perSecond: number; burst: number }) => {
  let tokens = burst;
  let at = performance.now();
  const server = await play.misbehaving(() => {
    const now = performance.now();
    tokens = Math.min(burst, tokens + ((now - at) * perSecond) / 1000);
    at = now;
    if (tokens < 1) return play.status(429, { 'ratelimit-reason': 'jira-burst-based' });
    tokens--;
    return play.late(20, play.json({}));
  });
  closing.push(server.close);
  return server;
};

describe('a source that answers 429 above its rate', () => {
  const rate: Rate = { name: 'all', perSecond: 25, burst: 2, covers: () => true };
  const open = (url: string, options: Partial<HttpOptions>) => {
    const http = httpTo(url, { rates: [rate], concurrency: 4, ...options });
    closing.push(http.close);
    return http;
  };

  // The source allows a larger burst: requests may be held up on their way and come together.
  const allowed = { perSecond: 25, burst: 20 };

  test('gives none to two processes that share the warehouse, and each gets its turn', async () => {
    const server = await limited(allowed);
    const database = await testDatabase();
    const elsewhere = await connect(database.url);
    closing.push(database.drop, elsewhere.close);
    const two = [database.warehouse, elsewhere].map(({ db }) => open(server.url, { budget: budgetsOf(db) }));
    const all = times(80).map((n) => two[n % 2]?.send(get(`/${n}`, { endpoint: '/x' }), never));
    await Promise.all(all);
    expect(server.fired).toEqual(times(80).map(() => 'late json'));
    expect(two.map(({ counters }) => counters.requests)).toEqual([40, 40]);
    const { rows } = await database.warehouse.pool.query('select key from ops.budgets');
    expect(rows).toEqual([{ key: `all ${server.url}` }]);
  });

  test('gives some to two that do not: the test above can fail', async () => {
    const server = await limited(allowed);
    const stop = new AbortController();
    const two = times(2).map(() => open(server.url, {}));
    const all = times(200).map((n) => two[n % 2]?.send(get('/x'), stop.signal));
    const ended = Promise.allSettled(all);
    await expect.poll(() => server.fired, { timeout: 30_000 }).toContain('status 429');
    stop.abort();
    await ended;
  });

  test('pauses that endpoint in a process that has no rate and was not told, and no other endpoint', async () => {
    const asked = { 'ratelimit-reason': 'jira-burst-based', 'retry-after': '4' };
    const server = await play.misbehaving((_, n) => (n === 0 ? play.status(429, asked) : play.json({})));
    closing.push(server.close);
    const database = await testDatabase();
    closing.push(database.drop);
    const budget = budgetsOf(database.warehouse.db);
    const events: HttpEvent[] = [];
    const [one, other] = [{}, { observe: (event: HttpEvent) => void events.push(event) }].map((more) =>
      open(server.url, { rates: [], budget, ...more }),
    );
    const first = one?.send(get('/x'), never);
    await expect.poll(async () => (await budget.pauses(server.url)).size, { timeout: 20_000 }).toBe(1);
    await Promise.all([other?.send(get('/x'), never), other?.send(get('/y'), never), first]);
    expect(server.fired).toEqual(['status 429', 'json', 'json', 'json']);
    const [refused, next] = server.requests.map(({ url, at }) => ({ url, at }));
    expect([refused?.url, next?.url]).toEqual(['/x', '/y']);
    for (const { url, at } of server.requests.slice(2)) {
      expect(url).toBe('/x');
      expect(at - (refused?.at ?? 0)).toBeGreaterThan(3990);
    }
    expect(events.map(({ type, endpoint }) => [type, endpoint])).toContainEqual([
      'throttled',
      `${server.url} GET /x`,
    ]);
    expect([one, other].map((http) => http?.counters.quiet)).toEqual([[], []]);
  });
});
