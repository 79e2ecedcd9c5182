import { expect, onTestFinished, test } from 'vitest';
import { scriptedServer } from '../../../simulators/testing/server.ts';
import { createHttp } from '../../../src/http/client.ts';
import { handingOn } from '../../../src/http/hand-on.ts';
import { get } from '../../../src/reading/requests.ts';

const { signal } = new AbortController();

/** Two readers of a server that numbers its answers. `of`: an answer's size, by path. */
const readers = async (of: (path: string) => number = () => 1) => {
  let sent = 0;
  const server = await scriptedServer(({ path }) => {
    sent += 1;
    if (path === '/closed') return { status: 404, body: {} };
    return { status: 200, body: { number: sent, text: 'x'.repeat(of(path)) } };
  });
  onTestFinished(() => server.close());
  const http = createHttp({ baseUrl: server.url });
  onTestFinished(() => http.close());
  const { first, second } = handingOn(http);
  const number = async (reader: typeof http, path: string, query = {}) => {
    const { body } = await reader.send(get(path, query), signal);
    return (body as { number: number }).number;
  };
  return {
    sent: () => sent,
    first: (path: string, query?: object) => number(first, path, query),
    second: (path: string, query?: object) => number(second, path, query),
  };
};

test('whoever asks later takes the last answer of the other, once', async () => {
  const both = await readers();
  for (const [one, other, before] of [
    [both.first, both.second, 0],
    [both.second, both.first, 3],
  ] as const) {
    const path = `/list${before}`;
    expect([await one(path), await one(path)]).toEqual([before + 1, before + 2]);
    expect(await other(path)).toBe(before + 2);
    expect(await other(path)).toBe(before + 3);
    expect(both.sent()).toBe(before + 3);
  }
});

test('what was in doubt is not taken from the other reader, which asked for it meanwhile', async () => {
  const { first, second, sent } = await readers();
  expect([await first('/list'), await second('/list')]).toEqual([1, 1]);
  expect([await second('/list'), await first('/list'), await second('/list')]).toEqual([2, 3, 4]);
  expect(sent()).toBe(4);
});

test('another page, and what the first reader was refused, is requested', async () => {
  const { first, second, sent } = await readers();
  await first('/list', { startAt: 0 });
  await expect(first('/closed')).rejects.toThrow();
  expect(await second('/list', { startAt: 50 })).toBe(3);
  await expect(second('/closed')).rejects.toThrow();
  expect(sent()).toBe(4);
});

test('an answer that is on its way is waited for', async () => {
  const { first, second, sent } = await readers();
  expect(await Promise.all([first('/list'), second('/list')])).toEqual([1, 1]);
  expect(sent()).toBe(1);
});

test('answers beyond 8 MB are not kept', async () => {
  const { first, second, sent } = await readers(() => 5 << 20);
  await first('/one');
  await first('/two');
  expect([await second('/one'), await second('/two')]).toEqual([1, 3]);
  expect(sent()).toBe(3);
});
