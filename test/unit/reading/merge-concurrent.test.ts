/** Several streams at once: order, bounds, failures, and that nothing that was taken is kept. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { Transient } from '../../../src/core/errors.ts';
import { mergeConcurrent, streamLimit } from '../../../src/reading/merge-concurrent.ts';

const never = new AbortController().signal;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function* numbers(name: string, count: number): AsyncGenerator<string, void, void> {
  for (let n = 0; n < count; n += 1) {
    await turn();
    yield `${name}${n}`;
  }
}

async function all<T>(items: AsyncGenerator<T, void, void>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** Streams that count how many of them are open. */
const counting = () => {
  const counts = { open: 0, most: 0 };
  async function* counted(name: string): AsyncGenerator<string, void, void> {
    counts.open += 1;
    counts.most = Math.max(counts.most, counts.open);
    try {
      yield* numbers(name, 5);
    } finally {
      counts.open -= 1;
    }
  }
  return { counts, counted };
};

test('every item comes once, in the order of its stream, and the number of open streams is limited', async () => {
  const { counts, counted } = counting();
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const found = await all(mergeConcurrent(names, 3, counted, never));
  expect(found).toHaveLength(35);
  for (const name of names)
    expect(found.filter((item) => item.startsWith(name))).toEqual([0, 1, 2, 3, 4].map((n) => `${name}${n}`));
  expect(counts.most).toBe(3);
});

test('the first failure ends it, and the other streams with it', async () => {
  const left: string[] = [];
  async function* some(name: string, signal: AbortSignal): AsyncGenerator<string, void, void> {
    try {
      yield `${name}0`;
      if (name === 'bad') throw new Transient('cut off');
      while (!signal.aborted) await turn();
    } finally {
      left.push(name);
    }
  }
  await expect(all(mergeConcurrent(['good', 'bad'], 2, some, never))).rejects.toThrow('cut off');
  await expect.poll(() => left.toSorted()).toEqual(['bad', 'good']);
});

test('while one stream waits, items of the others are not kept in memory', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const seen: WeakRef<object>[] = [];
  const still = Promise.withResolvers<void>();
  async function* stream(name: string): AsyncGenerator<object, void, void> {
    if (name === 'slow') await still.promise;
    else
      for (let n = 0; n < 300; n += 1) {
        await turn();
        yield { page: new Array(1000).fill(n) };
      }
  }
  let count = 0;
  for await (const item of mergeConcurrent(['slow', 'fast'], 2, stream, never)) {
    seen.push(new WeakRef(item));
    count += 1;
    if (count < 300) continue;
    await turn();
    collect();
    await turn();
    collect();
    expect(seen.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(10);
    still.resolve();
  }
  expect(count).toBe(300);
});

test('a limit holds for the streams of all readers; one that is left early frees its slot', async () => {
  const limit = streamLimit(2);
  const { counts, counted } = counting();
  const first = async (name: string): Promise<void> => {
    for await (const _ of limit(() => counted(name), never)) break;
  };
  const reads = ['a', 'b', 'c'].map((name) =>
    all(mergeConcurrent([name, `${name}'`], 2, (n) => limit(() => counted(n), never), never)),
  );
  await Promise.all([...reads, first('x'), first('y')]);
  expect((await Promise.all(reads)).map((found) => found.length)).toEqual([10, 10, 10]);
  expect(counts).toEqual({ open: 0, most: 2 });
});

test('waiting for the limit ends at an abort, and takes no slot', async () => {
  const limit = streamLimit(1);
  const held = limit(() => numbers('a', 2), never);
  await held.next();
  const stop = new AbortController();
  const waiting = all(limit(() => numbers('b', 2), stop.signal));
  await turn();
  stop.abort(new Transient('no longer wanted'));
  await expect(waiting).rejects.toThrow('no longer wanted');
  await held.return(undefined);
  expect(await all(limit(() => numbers('c', 2), never))).toEqual(['c0', 'c1']);
});
