import pLimit from 'p-limit';
import { openTracker } from '../src/connectors/jira/source.ts';
import type { Slice } from '../src/core/stream.ts';
import { cutByCount, mostRecords } from '../src/engine/sync/cut.ts';
import { basic } from '../src/http/auth.ts';
import { pages } from '../src/reading/pages.ts';

/**
 * Reads what a first sync reads (or, given an instant, what has changed since then) and parses it, and does nothing with it: the ceiling of
 * HTTP plus parse. Prints records and seconds.
 */
const [baseUrl = '', email = '', token = '', concurrency = '4', changedSince] = process.argv.slice(2);
const start = new Date('2000-01-01T00:00:00Z');
const source = openTracker(
  {
    baseUrl,
    auth: basic(email, { reveal: () => token }),
    start,
    changes: 'auto',
    groups: [],
  },
  { http: { concurrency: Number(concurrency) } },
);
const { signal } = new AbortController();
const { clock = new Date() } = await source.check(signal);
const issues = source.streams.find((flow) => flow.name === 'issues');
const walk = issues?.pages;
if (walk === undefined) throw new Error('the tracker has no issues');
const limit = pLimit(Number(concurrency));
let records = 0;

async function read(slice: Slice): Promise<void> {
  const more = await limit(async () => {
    const isCounted = slice.window?.field === 'created';
    const count = isCounted ? ((await issues?.windows?.count(slice, signal)) ?? 0) : 0;
    const cut = cutByCount(slice, count, mostRecords, clock);
    if (cut !== undefined || walk === undefined) return cut ?? [];
    for await (const page of pages(source.http, await walk(slice, signal), signal))
      records += page.records.length;
    return [];
  });
  await Promise.all(more.map(read));
}

const started = performance.now();
await read({
  window:
    changedSince === undefined
      ? { field: 'created', from: start }
      : { field: 'updated', from: new Date(changedSince) },
});
console.log(JSON.stringify({ records, seconds: (performance.now() - started) / 1000 }));
await source.http.close();
