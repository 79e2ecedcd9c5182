import { afterAll, beforeAll, expect, test } from 'vitest';
import { openScene, type Scene } from './scene.ts';

let scene: Scene;
const token = 'secret';
let cookie = '';

beforeAll(async () => {
  scene = await openScene({ token });
  const answer = await fetch(`${scene.url}/login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin: scene.url },
    body: new URLSearchParams({ token, next: '/' }),
  });
  cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
});
afterAll(() => scene.close());

interface Event {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** Listens until `enough` is satisfied; fails after ten seconds. */
async function listen(
  path: string,
  enough: (events: readonly Event[]) => boolean,
  headers: Readonly<Record<string, string>> = {},
): Promise<readonly Event[]> {
  const leaving = AbortSignal.timeout(10_000);
  const answer = await fetch(`${scene.url}${path}`, { headers: { cookie, ...headers }, signal: leaving });
  expect(answer.headers.get('content-type')).toContain('text/event-stream');
  const events: Event[] = [];
  let text = '';
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk).toString();
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      const event = field('event');
      if (event !== undefined) events.push({ event, data: field('data') ?? '', id: field('id') });
    }
    if (enough(events)) return events;
  }
  throw new Error(`the stream ended after ${JSON.stringify(events)}`);
}

test('pages hear that something changed while a run goes on', async () => {
  const heard = listen('/events', (events) => events.length >= 4);
  await scene.control.start({ pipeline: 'tracker', does: 'sync' }, { by: 'test' });
  const events = await heard;
  expect(new Set(events.map(({ event }) => event))).toEqual(new Set(['change']));
  expect(new Set(events.map(({ data }) => data)).size).toBe(events.length);
  await scene.idle();
});

test('a log is followed from where the page left off, and from where a reader was cut off', async () => {
  const [run] = await scene.control.history('tracker', { limit: 1 });
  const path = `/events/log/tracker/${run?.runId}`;
  const all = await scene.control.log('tracker', run?.runId ?? '', {});
  expect(all.length).toBeGreaterThan(10);
  const events = await listen(`${path}?after=3`, (found) => found.length >= all.length - 3);
  expect(events.map(({ id }) => Number(id))).toEqual(all.slice(3).map(({ seq }) => seq));
  expect(JSON.parse(events[0]?.data ?? '')).toMatchObject({ level: 'info', message: all[3]?.message });
  const rest = await listen(`${path}?after=3`, (found) => found.length >= 1, {
    'last-event-id': String(all.length - 1),
  });
  expect(rest.map(({ id }) => Number(id))).toEqual([all.length]);
});

test('the log of a run that is over ends: a page that is left open asks the warehouse nothing more', async () => {
  const [run] = await scene.control.history('tracker', { limit: 1 });
  expect(run?.finishedAt).not.toBeNull();
  const leaving = AbortSignal.timeout(5_000);
  const answer = await fetch(`${scene.url}/events/log/tracker/${run?.runId}`, {
    headers: { cookie },
    signal: leaving,
  });
  const all = await scene.control.log('tracker', run?.runId ?? '', {});
  const text = await answer.text();
  expect(text.match(/^event: line$/gm)).toHaveLength(all.length);
  expect(text.trimEnd()).toMatch(/event: end\ndata: .*$/);
});

test('the log of a run that is not there is not followed', async () => {
  const answer = await fetch(`${scene.url}/events/log/tracker/none`, { headers: { cookie } });
  expect(answer.status).toBe(404);
});

test('pages are told when the warehouse cannot be asked, and when it can again', async () => {
  const { pool } = scene.rig.database.warehouse;
  const heard = listen(
    '/events',
    (events) => events.at(-1)?.event === 'change' && events.some(({ event }) => event === 'trouble'),
  );
  await pool.query('alter table ops.rejects rename to rejects_away');
  setTimeout(() => void pool.query('alter table ops.rejects_away rename to rejects'), 400);
  const events = await heard;
  expect(events.find(({ event }) => event === 'trouble')?.data).toBe('the warehouse does not answer');
});
