/**
 * `npm run bench -- --against REV`: this checkout and an earlier commit in turns, on one machine, over the same sources, without autovacuum,
 * which begins by the clock and would fall to one of the two. Prints, for each part, the ratio of the medians (seconds, for (e) megabytes):
 * 1.10 means that this checkout takes 10 % more.
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { adsParts, lists, syncAds } from './ads.ts';
import { measure, service } from './processes.ts';

const here = path.resolve(import.meta.dirname, '..');

/** What the bench lends. */
export interface Turns {
  readonly folder: string;
  readonly times: number;
  readonly issues: number;
  readonly concurrency: number;
  readonly letters: readonly string[];
  /** Makes an empty database and gives its address. */
  emptyDatabase(name: string): Promise<string>;
  say(text: string): void;
}

interface Address {
  readonly url: string;
  readonly email: string;
  readonly token: string;
}

/** Seconds of one command, and its peak memory in megabytes. */
interface Taken {
  readonly seconds: number;
  readonly peakMb: number;
}

type Side = 'here' | 'there';

/** A checkout of REV with its own packages. */
function checkout(rev: string, folder: string): string {
  const there = path.join(folder, 'against');
  execFileSync('git', ['worktree', 'add', '--detach', '--force', there, rev], { cwd: here, stdio: 'ignore' });
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-progress'], { cwd: there, stdio: 'ignore' });
  return there;
}

export async function against(rev: string, turns: Turns): Promise<void> {
  const roots: Readonly<Record<Side, string>> = { here, there: checkout(rev, turns.folder) };
  const taken = new Map<string, Record<Side, Taken[]>>();
  const note = (part: string, side: Side, one: Taken): void => {
    const known = taken.get(part) ?? { here: [], there: [] };
    known[side].push(one);
    taken.set(part, known);
    turns.say(`(${part}) ${side}: ${one.seconds.toFixed(2)} s, ${one.peakMb.toFixed(0)} MB`);
  };
  const fresh = async (side: Side): Promise<string> => {
    const url = await turns.emptyDatabase(`bench_${side}`);
    const cost = await measure(['src/tidemark.js', 'migrate'], { DATABASE_URL: url }, roots[side]);
    if (cost.code !== 0) throw new Error(`migrate ended with ${cost.code}: ${cost.err}`);
    return url;
  };
  const issues = async (
    side: Side,
    url: string,
    at: Address,
    ...flags: readonly string[]
  ): Promise<Taken> => {
    const variables = {
      DATABASE_URL: url,
      TRACKER_BASE_URL: at.url,
      TRACKER_EMAIL: at.email,
      TRACKER_API_TOKEN: at.token,
      TRACKER_CONCURRENCY: String(turns.concurrency),
    };
    const cost = await measure(
      ['src/tidemark.js', 'sync', '--stream', 'issues', ...flags],
      variables,
      roots[side],
    );
    if (cost.code !== 0) throw new Error(`sync ended with ${cost.code}: ${cost.err}`);
    return cost;
  };
  const asks = (...letters: readonly string[]): boolean =>
    turns.letters.length === 0 || letters.some((letter) => turns.letters.includes(letter));

  try {
    if (asks('a', 'b', 'c', 'e')) {
      const tracker = await service<Address>('bench/simulator.ts', [String(turns.issues), '0']);
      for (let round = 0; round <= turns.times; round += 1)
        for (const side of inTurn(round)) {
          const url = await fresh(side);
          const first = await issues(side, url, tracker.ready);
          // The first round warms the source up.
          if (round === 0) continue;
          note('a', side, first);
          note('e', side, first);
          note('b', side, await issues(side, url, tracker.ready, '--full'));
          await tracker.ask({ touch: Math.floor(turns.issues / 100) });
          note('c', side, await issues(side, url, tracker.ready));
        }
      await tracker.stop();
    }
    if (asks('d')) {
      const far = await service<Address>('bench/simulator.ts', [String(turns.issues), '50']);
      for (let round = 0; round <= turns.times; round += 1)
        for (const side of inTurn(round)) {
          const one = await issues(side, await fresh(side), far.ready);
          if (round > 0) note('d', side, one);
        }
      await far.stop();
    }
    // (f) has a bound of its own, the network's floor: `npm run bench -- f`.
    for (const part of adsParts.filter(({ letter }) => letter !== 'f' && asks(letter))) {
      const platform = await service<Readonly<Record<string, string>>>(
        'bench/ads-platform.ts',
        part.platform,
      );
      for (let round = 0; round <= turns.times; round += 1)
        for (const side of inTurn(round)) {
          const url = await fresh(side);
          await syncAds(url, platform.ready, lists, roots[side]);
          const one = await syncAds(url, platform.ready, [part.stream], roots[side]);
          if (round > 0) note(part.letter, side, one);
        }
      await platform.stop();
    }
  } finally {
    execFileSync('git', ['worktree', 'remove', '--force', roots.there], { cwd: here });
  }
  console.log(`| part | here | ${rev} | ratio |\n|---|---|---|---|`);
  for (const [part, sides] of [...taken].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const unit = part === 'e' ? 'peakMb' : 'seconds';
    const now = median(sides.here, unit);
    const then = median(sides.there, unit);
    console.log(
      `| (${part}) ${unit === 'peakMb' ? 'MB' : 's'} | ${now.toFixed(2)} | ${then.toFixed(2)} | ${(now / then).toFixed(3)} |`,
    );
  }
}

/** Who goes first changes from round to round. */
const inTurn = (round: number): readonly Side[] => (round % 2 === 0 ? ['here', 'there'] : ['there', 'here']);

const median = (all: readonly Taken[], of: keyof Taken): number =>
  all.map((one) => one[of]).sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
