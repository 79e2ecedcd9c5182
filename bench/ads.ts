import fs from 'node:fs';
import path from 'node:path';
import type { RunReport } from '../src/core/run.ts';
import type { Warehouse } from '../src/warehouse/connect.ts';
import { measure, service } from './processes.ts';
import { dump, rawCopy } from './raw-copy.ts';
import type { Figure } from './report.ts';

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
const lists = ['businesses', 'ad_accounts', 'campaigns', 'ad_sets', 'ads'];

const median = (list: readonly number[]): number =>
  [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN;

async function syncOnce(url: string, at: Variables, streams: readonly string[]) {
  const flags = streams.flatMap((stream) => ['--stream', stream]);
  const cost = await measure(['src/tidemark.js', 'sync', 'ads', '--json', ...flags], {
    DATABASE_URL: url,
    ...at,
  });
  if (cost.code !== 0) throw new Error(`sync ended with ${cost.code}: ${cost.err}\n${cost.out.slice(-2000)}`);
  const last = JSON.parse(cost.out.trim().split('\n').at(-1) ?? '{}') as { report: RunReport };
  const seconds = Math.max(...last.report.streams.map((stream) => stream.seconds));
  return { seconds, rows: last.report.counts.received, changed: last.report.counts, peakMb: cost.peakMb };
}

interface Part {
  readonly letter: 'f' | 'g';
  readonly what: string;
  readonly stream: string;
  /** Tables without rows of the stream are left out. */
  readonly tables: RegExp;
  readonly platform: readonly string[];
  readonly goal: number;
}

/** Report rows, and a large CSV report: each against raw `\copy` of the same rows, then again with nothing restated. */
export const adsParts: readonly Part[] = [
  {
    letter: 'f',
    what: 'rows by day of 2 accounts × 10 campaigns × 50 ads × 90 days',
    stream: 'report_daily',
    tables: /^report_daily_\d{4}$/,
    platform: ['2', '90', '1'],
    goal: 0.4,
  },
  {
    letter: 'g',
    what: 'a CSV report of 500,000 rows',
    stream: 'async_reports',
    tables: /^report_csv$/,
    platform: ['1', '90', '12'],
    goal: 0.6,
  },
];

export async function measureAds(part: Part, lent: Lent): Promise<readonly Figure[]> {
  const { letter, stream, what } = part;
  lent.say(`ads: ${what} …`);
  const platform = await service<Variables>('bench/ads-platform.ts', part.platform);
  const dumped = path.join(lent.folder, `ads-${letter}`);
  const firsts: number[] = [];
  const raws: number[] = [];
  let figures: readonly Figure[] = [];
  for (let i = 0; i <= lent.times; i += 1) {
    const { url, warehouse } = await lent.freshDatabase('bench_ads');
    await syncOnce(url, platform.ready, lists);
    const before = await lent.walBytes();
    const first = await syncOnce(url, platform.ready, [stream]);
    const wal = (await lent.walBytes()) - before;
    if (i === 0) {
      // Warms up, and gives the rows that are copied.
      fs.mkdirSync(dumped);
      await dump(warehouse.pool, 'ads', dumped);
      for (const file of fs.readdirSync(dumped))
        if (!part.tables.test(path.basename(file, '.copy'))) fs.rmSync(path.join(dumped, file));
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
    if (i === lent.times) {
      await lent.settled(warehouse);
      const start = await lent.walBytes();
      await syncOnce(url, platform.ready, [stream]);
      const rewritten = ((await lent.walBytes()) - start) / wal;
      const ratio = median(raws) / median(firsts);
      figures = [
        {
          name: `(${letter}) ${what}: first sync to raw \`\\copy\` of the same rows (${first.rows.toLocaleString('en')})`,
          value: ratio,
          goal: `at least ${part.goal}`,
          ok: ratio >= part.goal,
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
    await warehouse.close();
  }
  await platform.stop();
  return figures;
}
