import type { Lent } from './ads.ts';
import { measure, service } from './processes.ts';
import type { Figure } from './report.ts';

interface Address {
  readonly url: string;
  readonly email: string;
  readonly token: string;
}

/** Every how many issues one has a history of 220 changes; the search shows 40 of them. */
const longEvery = 20;

type Asked = Readonly<Record<string, number>>;
const sumOf = (asked: Asked): number => Object.values(asked).reduce((sum, count) => sum + count, 0);

/**
 * (j): requests for the issues of a first sync and of a night in which 1 % of them changed, from a site that gives long
 * lists for many issues at once, and from one that gives them issue by issue only.
 */
export async function measureRequests(
  issues: number,
  { freshDatabase, say }: Pick<Lent, 'freshDatabase' | 'say'>,
): Promise<readonly Figure[]> {
  const read = async (
    lists: 'bulk' | 'single',
  ): Promise<{ readonly first: Asked; readonly night: Asked }> => {
    const args = [String(issues), '0', String(longEvery), lists];
    const tracker = await service<Address>('bench/simulator.ts', args);
    const { url, warehouse } = await freshDatabase('bench_requests');
    await warehouse.close();
    const sync = async (what: string): Promise<Asked> => {
      const { ready } = tracker;
      const cost = await measure(['src/tidemark.js', 'sync', '--json', '--stream', 'issues'], {
        ...{ DATABASE_URL: url, TRACKER_BASE_URL: ready.url },
        ...{ TRACKER_EMAIL: ready.email, TRACKER_API_TOKEN: ready.token },
      });
      if (cost.code !== 0) throw new Error(`sync ended with ${cost.code}: ${cost.err}${cost.out}`);
      const { asked } = (await tracker.ask({ asked: true })) as { readonly asked: Asked };
      say(`${what}, lists ${lists}: ${sumOf(asked)} requests ${JSON.stringify(asked)}`);
      return asked;
    };
    try {
      const first = await sync('first sync');
      await tracker.ask({ change: Math.floor(issues / 100) });
      return { first, night: await sync('night') };
    } finally {
      await tracker.stop();
    }
  };
  const [single, bulk] = [await read('single'), await read('bulk')];
  const figure = (what: 'first' | 'night', name: string, least: number): Figure => {
    const value = sumOf(single[what]) / sumOf(bulk[what]);
    const counts = `${sumOf(single[what])} to ${sumOf(bulk[what])}`;
    return {
      name: `(j) requests for the issues of ${name}, 5 % of the issues with long histories: lists issue by issue to many at once (${counts})`,
      ...{ value, goal: `at least ${least}`, ok: value >= least },
    };
  };
  return [figure('first', `a first sync of ${issues}`, 10), figure('night', 'a night with 1 % changed', 3)];
}
