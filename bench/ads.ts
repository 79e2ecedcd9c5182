import fs from 'node:fs';
import path from 'node:path';
import type { RunReport } from '../src/core/run.ts';
import type { Warehouse } from '../src/warehouse/connect.ts';
import { measure, service } from './processes.ts';
import { dump, rawCopy } from './raw-copy.ts';
import type { Figure } from './report.ts';
import { median } from './statistics.ts';

/** What the bench lends. */
export interface Lent {
  readonly folder: string;
  readonly times: number;
  freshDatabase(name: string): Promise<{ readonly url: string; readonly warehouse: Warehouse }>;
  /** Lets the server finish what it does behind the runs before. */
  settled(warehouse: Warehouse): Promise<void>;
  walBytes(): Promise<number>;
  say(text: string): void;
}

type Variables = Readonly<Record<string, string>>;

/** What there is to ask a report for; read before it, untimed. */
export const lists = ['businesses', 'ad_accounts', 'campaigns', 'ad_sets', 'ads'];

export async function syncAds(url: string, at: Variables, streams: readonly string[], cwd?: string) {
  const flags = streams.flatMap((stream) => ['--stream', stream]);
  const variables = { DATABASE_URL: url, ...at };
  const cost = await measure(['src/tidemark.js', 'sync', 'ads', '--json', ...flags], variables, cwd);
  if (cost.code !== 0) throw new Error(`sync ended with ${cost.code}: ${cost.err}\n${cost.out.slice(-2000)}`);
  const last = JSON.parse(cost.out.trim().split('\n').at(-1) ?? '{}') as { report: RunReport };
  const seconds = Math.max(...last.report.streams.map((stream) => stream.seconds));
  return {
    seconds,
    rows: last.report.counts.received,
    changed: last.report.counts,
    peakMb: cost.peakMb,
    requests: last.report.requests,
  };
}

export interface Part {
  readonly letter: 'f' | 'g';
  readonly what: string;
  readonly stream: string;
  readonly platform: readonly string[];
}

/** Report rows at the vendor's rate, and a large CSV report. */
export const adsParts: readonly Part[] = [
  {
    letter: 'f',
    what: 'rows by day of 2 accounts × 10 campaigns × 50 ads × 90 days',
    stream: 'report_daily',
    platform: ['2', '90', '1'],
  },
  { letter: 'g', what: 'a CSV report of 500,000 rows', stream: 'async_reports', platform: ['1', '90', '12'] },
];

/** Report requests a second that the vendor allows. */
const vendorRate = 5;

/** Raw `\copy` of this table is what (g) is compared with. */
const csvTable = 'report_csv.copy';

export async function measureAds(part: Part, lent: Lent): Promise<readonly Figure[]> {
  lent.say(`ads: ${part.what} …`);
  const platform = await service<Variables>('bench/ads-platform.ts', part.platform);
  try {
    return part.letter === 'f'
      ? await atVendorRate(part, platform.ready, lent)
      : await csv(part, platform.ready, lent);
  } finally {
    await platform.stop();
  }
}

/** Wall time against the floor that the rate limit sets: the requests of the stream, five a second. */
async function atVendorRate(
  { letter, stream, what }: Part,
  at: Variables,
  lent: Lent,
): Promise<readonly Figure[]> {
  const { url, warehouse } = await lent.freshDatabase('bench_ads');
  await syncAds(url, at, lists);
  const limited = { ...at, ADS_REPORT_REQUESTS_PER_SECOND: String(vendorRate) };
  const first = await syncAds(url, limited, [stream]);
  await lent.settled(warehouse);
  await warehouse.close();
  const floor = first.requests / vendorRate;
  const ratio = first.seconds / floor;
  lent.say(
    `${first.rows} rows in ${first.seconds.toFixed(2)} s, ${first.requests} requests, floor ${floor.toFixed(1)} s`,
  );
  return [
    {
      name: `(${letter}) ${what} at ${vendorRate} requests a second: wall time to the network's floor`,
      value: ratio,
      goal: 'at most 1.05',
      ok: ratio <= 1.05,
    },
    {
      name: `(${letter}) peak memory, MB`,
      value: first.peakMb,
      goal: 'at most 256',
      ok: first.peakMb <= 256,
    },
  ];
}

/** A CSV report against raw `\copy` of the same rows, then again with nothing restated. */
async function csv({ letter, stream, what }: Part, at: Variables, lent: Lent): Promise<readonly Figure[]> {
  const dumped = path.join(lent.folder, `ads-${letter}`);
  const firsts: number[] = [];
  const raws: number[] = [];
  for (let i = 0; ; i += 1) {
    const { url, warehouse } = await lent.freshDatabase('bench_ads');
    await syncAds(url, at, lists);
    const before = await lent.walBytes();
    const first = await syncAds(url, at, [stream]);
    const wal = (await lent.walBytes()) - before;
    if (i === 0) {
      // Warms up, and gives the rows that are copied.
      fs.mkdirSync(dumped);
      await dump(warehouse.pool, 'ads', dumped);
      for (const file of fs.readdirSync(dumped)) if (file !== csvTable) fs.rmSync(path.join(dumped, file));
    } else {
      const again = await lent.freshDatabase('bench_ads_raw');
      raws.push(await rawCopy(again.warehouse.pool, 'ads', dumped));
      await lent.settled(again.warehouse);
      await again.warehouse.close();
      firsts.push(first.seconds);
      lent.say(
        `round ${i}: ${first.rows} rows in ${first.seconds.toFixed(2)} s, raw \\copy ${raws.at(-1)?.toFixed(2)} s`,
      );
    }
    if (i < lent.times) {
      await warehouse.close();
      continue;
    }
    await lent.settled(warehouse);
    const start = await lent.walBytes();
    await syncAds(url, at, [stream]);
    const rewritten = ((await lent.walBytes()) - start) / wal;
    await warehouse.close();
    const ratio = median(raws) / median(firsts);
    const rows = first.rows.toLocaleString('en');
    return [
      {
        name: `(${letter}) ${what}: first sync to raw \`\\copy\` of the same rows (${rows})`,
        value: ratio,
        goal: 'at least 0.6',
        ok: ratio >= 0.6,
      },
      {
        name: `(${letter}) its last days again, nothing restated: WAL against the first`,
        value: rewritten,
        goal: 'under 0.01',
        ok: rewritten < 0.01,
      },
      {
        name: `(${letter}) peak memory, MB`,
        value: first.peakMb,
        goal: 'at most 256',
        ok: first.peakMb <= 256,
      },
    ];
  }
}
