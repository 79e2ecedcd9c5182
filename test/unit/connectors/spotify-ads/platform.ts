/** A small ads platform with known content, to read lists from: either tongue, and the ways in which servers of the contract may differ. */

import type { Ads } from '../../../../src/connectors/spotify-ads/ads.ts';
import { reportsOf } from '../../../../src/connectors/spotify-ads/reports/request.ts';
import { openClient } from '../../../../src/connectors/spotify-ads/source.ts';
import { adsStreams } from '../../../../src/connectors/spotify-ads/streams.ts';
import type { Json, KeySet, SliceContext, Stream } from '../../../../src/core/stream.ts';
import * as play from '../../../support/misbehaving-server.ts';

export type Entity = Readonly<Record<string, Json>> & { readonly id: string };

export interface PlatformOptions {
  /** Lists by path, e.g. `/ad_accounts/a1/campaigns`. */
  readonly lists: Readonly<Record<string, readonly Entity[]>>;
  /** Entities by path. */
  readonly entities?: Readonly<Record<string, Entity>>;
  /** vendor: named envelopes with numbers · bare: `data` without numbers. */
  readonly tongue?: 'vendor' | 'bare';
  /** Lists that are given whole, whatever page is asked for. */
  readonly whole?: readonly string[];
  /** Records a page at most. */
  readonly most?: number;
  /** What the server says instead of the total. */
  readonly total?: (total: number) => number;
  /** Paths that begin so answer 403. */
  readonly closed?: readonly string[];
  /** Paths that are answered so, whatever is there. */
  readonly oddly?: Readonly<Record<string, play.Reply>>;
}

/** The token that is taken. */
export const token = 'g1ven-token';

const nameOf = (path: string): string => {
  const last = path.slice(path.lastIndexOf('/') + 1);
  return path.includes('/drafts/')
    ? `${last.replace(/s$/, '')}_drafts`
    : last.replace('ad_categories', 'categories');
};

/** The options are read at each request: what is changed in them later has changed at the source. */
export const platform = async (options: PlatformOptions): Promise<play.Misbehaving> =>
  play.misbehaving(({ url, headers }) => {
    const { lists, entities = {}, tongue = 'vendor', whole = [], most = 50 } = options;
    const { total = (n) => n, closed = [] } = options;
    if (headers.authorization !== `Bearer ${token}`)
      return play.json({ messages: ['who is there?'] }, {}, 401);
    const { pathname, searchParams } = new URL(url, 'http://x');
    const path = pathname.replace(/^\/ads\/v3/, '');
    if (closed.some((prefix) => path.startsWith(prefix)))
      return play.json(
        { messages: ['not yours'], error_codes: [{ code: 'FORBIDDEN', definition: 'no access' }] },
        {},
        403,
      );
    const odd = options.oddly?.[path];
    if (odd !== undefined) return odd;
    const one = entities[path];
    if (one !== undefined) return play.json(one);
    const list = lists[path];
    if (list === undefined)
      return play.json({ error: { message: 'no such path', code: 404 }, path, timestamp: 'now' }, {}, 404);
    const limit = Number(searchParams.get('limit') ?? 50);
    const offset = Number(searchParams.get('offset') ?? 0);
    if (!(limit >= 1 && limit <= 50) || !(offset >= 0))
      return play.json({ messages: ['limit must be 1 to 50'] }, {}, 400);
    if (whole.includes(path)) return play.json({ [nameOf(path)]: list });
    const some = list.slice(offset, offset + Math.min(limit, most));
    return play.json(
      tongue === 'bare'
        ? { data: some, warnings: [] }
        : { paging: { page_size: limit, total_results: total(list.length), offset }, [nameOf(path)]: some },
    );
  });

export interface Reader {
  readonly ads: Ads;
  readonly notes: string[];
}

/** Opens the stream of this name. */
export const streamNamed =
  (name: string) =>
  (ads: Ads): Stream => {
    const settings = { start: new Date(0), reportHosts: [], reportRequestsPerSecond: 0 };
    const reports = reportsOf(ads, { ...settings, restateDays: [3, 14, 90] });
    const found = adsStreams(ads, reports).find((stream) => stream.name === name);
    if (found === undefined) throw new Error(`there is no stream ${name}`);
    return found;
  };

/** The client on a platform. */
export const reader = (url: string, accountIds: readonly string[] = []): Reader => {
  const notes: string[] = [];
  const note = (message: string): void => void notes.push(message);
  const http = openClient(
    {
      baseUrl: `${url}/ads/v3`,
      credentials: { kind: 'token', accessToken: { reveal: () => token } },
      sdkHeader: 'X-Service-Ads-Sdk',
      concurrency: 4,
      requestsPerSecond: 0,
      reportRequestsPerSecond: 0,
    },
    { http: { version: '1.2.3', retry: { baseMs: 1, capMs: 5 } } },
  );
  return { ads: { http, accountIds, concurrency: 4, note }, notes };
};

/** What a warehouse with these rows lends to a stream that reads a slice itself; without jobs. */
export const lending = (
  rows: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>,
): SliceContext => {
  const none = (): never => {
    throw new Error('there are no jobs here');
  };
  return {
    clock: new Date('2025-03-10T12:00:00Z'),
    now: new Date('2025-03-10T12:00:00Z'),
    job: { current: none, creating: none, submitted: none, became: none },
    async keys({ table, columns, of = {} }: KeySet) {
      const found = (rows[table] ?? []).filter((row) =>
        Object.entries(of).every(([column, value]) => row[column] === value),
      );
      return found.map((row) =>
        Object.fromEntries(
          Object.entries(columns).flatMap(([name, column]) =>
            row[column] === undefined ? [] : [[name, row[column]]],
          ),
        ),
      );
    },
  };
};
