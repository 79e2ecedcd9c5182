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

/** More than the search shows with an issue. */
const longWorklogs = 40;

interface Nights {
  readonly first: Asked;
  readonly night: Asked;
  readonly worklogs: Asked;
}

/**
 * (j): requests for the issues of a first sync, of a night in which 1 % of them changed, and of one in which work was
 * logged on 1 % that have long lists of worklogs: from a site that gives long lists for many issues at once, and from
 * one that gives them issue by issue only.
 */
export async function measureRequests(
  issues: number,
  { freshDatabase, say }: Pick<Lent, 'freshDatabase' | 'say'>,
): Promise<readonly Figure[]> {
  const read = async (lists: 'bulk' | 'single'): Promise<Nights> => {
    const args = [String(issues), '0', String(longEvery), lists];
    const tracker = await service<Address>('bench/simulator.ts', args);
    const { url, warehouse } = await freshDatabase('bench_requests');
    await warehouse.close();
    const sync = async (what: string): Promise<Asked> => {
      const { ready } = tracker;
      const cost = await measure(['src/tidemark.js', 'sync', '--json', '--stream', 'issues'], {
        DATABASE_URL: url,
        TRACKER_BASE_URL: ready.url,
        TRACKER_EMAIL: ready.email,
        TRACKER_API_TOKEN: ready.token,
      });
      if (cost.code !== 0) throw new Error(`sync ended with ${cost.code}: ${cost.err}${cost.out}`);
      const { asked } = (await tracker.ask({ asked: true })) as { readonly asked: Asked };
      say(`${what}, lists ${lists}: ${sumOf(asked)} requests ${JSON.stringify(asked)}`);
      return asked;
    };
    try {
      const first = await sync('first sync');
      const some = Math.floor(issues / 100);
      await tracker.ask({ change: some });
      const night = await sync('night');
      await tracker.ask({ log: some, times: longWorklogs });
      await sync('night in which lists of worklogs become long');
      await tracker.ask({ log: some });
      return { first, night, worklogs: await sync('night of worklogs') };
    } finally {
      await tracker.stop();
    }
  };
  const single = await read('single');
  const bulk = await read('bulk');
  const figure = (what: keyof Nights, name: string, lists: string, least: number): Figure => {
    const value = sumOf(single[what]) / sumOf(bulk[what]);
    const counts = `${sumOf(single[what])} to ${sumOf(bulk[what])}`;
    return {
      name: `(j) requests for the issues of ${name}, ${lists}: lists issue by issue to many at once (${counts})`,
      value,
      goal: `at least ${least}`,
      ok: value >= least,
    };
  };
  const histories = '5 % of the issues with long histories';
  return [
    figure('first', `a first sync of ${issues}`, histories, 10),
    figure('night', 'a night with 1 % changed', histories, 3),
    figure('worklogs', 'a night with work logged on 1 %', 'each with a long list of worklogs', 3),
  ];
}
