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

test('the second reader takes the last answer of the first, once', async () => {
  const { first, second, sent } = await readers();
  expect([await first('/list'), await first('/list')]).toEqual([1, 2]);
  expect(await second('/list')).toBe(2);
  expect(await second('/list')).toBe(3);
  expect(sent()).toBe(3);
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
