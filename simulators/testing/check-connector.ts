/** What every connector promises, checked against a server that answers as its source does. */
import assert from 'node:assert/strict';
import type { Connector, ConnectorCall } from '../../src/connectors/connector.ts';
import type { RunReport } from '../../src/core/run.ts';
import { type DeclaredTable, nameOf } from '../../src/core/table.ts';
import { sync } from '../../src/engine/sync.ts';
import { type Answer, forwardTo, type Script, scriptedServer } from './server.ts';
import { type TemporaryWarehouse, temporaryWarehouse, withSource } from './warehouse.ts';

export interface ConnectorCheck {
  /** Where a server answers as the source does, with some records of each stream. It must not change meanwhile. */
  readonly url: string;
  /** The settings of the connector for that server at another address; secrets as text. */
  settings(baseUrl: string): Readonly<Record<string, unknown>>;
  /** An empty database; default: an embedded one. */
  readonly databaseUrl?: string;
}

/**
 * Checks what every connector promises: tables with keys and comments, a complete first sync, and that repeated records, broken connections,
 * server errors, rate limits, lists that are empty once, refusals, wrong credentials and a stop neither lose nor delete a row. Throws the first
 * that does not hold, by its name.
 */
export async function checkConnector<S extends Connector['settings']>(
  call: ConnectorCall<S>,
  { url, settings, databaseUrl }: ConnectorCheck,
): Promise<void> {
  const connector = call.connector as unknown as Connector;
  const forward = forwardTo(url);
  let fault: Script | undefined;
  const server = await scriptedServer(async (asked) => (await fault?.(asked)) ?? forward(asked));
  const warehouse = await temporaryWarehouse([{ connector }], databaseUrl);
  const values = valuesOf(connector, settings(server.url + new URL(url).pathname.replace(/\/$/, '')));
  const run: Run = (script, signal = new AbortController().signal) => {
    fault = script;
    return withSource(connector, values, warehouse, signal, (deps) => sync(deps, { full: true }));
  };
  try {
    checkTables(connector);
    const report = await run();
    const bad = report.streams.filter(({ status }) => !['ok', 'unavailable'].includes(status));
    assert.deepEqual(bad, [], 'a first sync reads every stream, and its receipts match');
    assert.equal(report.status, 'succeeded', report.error?.message);
    assert.ok(report.counts.inserted > 0, 'the server shows no record');
    const content = () => contentOf(connector, warehouse);
    const whole = await content();
    for (const [name, check] of Object.entries(promises)) {
      const failed = (cause: unknown) => {
        throw new Error(`${connector.name}: ${name}: ${cause}`, { cause });
      };
      await check({ run, forward, content }).catch(failed);
      assert.deepEqual(firstOf(differences(whole, await content())), [], `${connector.name}: ${name}`);
    }
  } finally {
    await warehouse.close();
    await server.close();
  }
}

type Run = (script?: Script, signal?: AbortSignal) => Promise<RunReport>;

/** By the name of the table: its living rows by their keys, without when and by which run they were written. */
type Content = ReadonlyMap<string, ReadonlyMap<string, string>>;

interface Stage {
  readonly run: Run;
  /** Answers as the source does. */
  readonly forward: Script;
  readonly content: () => Promise<Content>;
}

const succeeds = async (run: Promise<RunReport>): Promise<void> => {
  const { status, error } = await run;
  assert.equal(status, 'succeeded', error?.message);
};

/** After each of these the tables hold what they held before. */
const promises: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  'records that come again change nothing': ({ run }) => succeeds(run()),

  'a broken connection, a 500 and a 429 cost nothing but time': async ({ run, forward }) => {
    const faults: Answer[] = ['reset', { status: 500 }, { status: 429, headers: { 'retry-after': '0' } }];
    const third: Script = (asked) => (asked.number % 3 === 0 ? faults.shift() : undefined) ?? forward(asked);
    // A small source takes few requests for a run.
    while (faults.length > 0) await succeeds(run(third));
  },

  'a list that is empty once deletes nothing': async ({ run, forward }) => {
    const met = new Set<string>();
    await run(async (asked) => {
      const answer = await forward(asked);
      const path = asked.path.replace(/\?.*/, '');
      if (met.has(path) || answer === 'reset' || answer.status !== 200) return answer;
      const body = emptied(answer.body);
      if (body === undefined) return answer;
      met.add(path);
      return { ...answer, body };
    });
    assert.ok(met.size > 0, 'no list was emptied');
  },

  'a refused or missing list deletes nothing': async ({ run, forward, content }) => {
    const before = await content();
    for (const status of [403, 404]) {
      const first = new Set<string>();
      // What signs in and the request after it are answered.
      const refuse: Script = (asked) => {
        const isFirst = first.size < 2;
        first.add(asked.path);
        return isFirst ? forward(asked) : { status, body: {} };
      };
      await run(refuse).catch(() => undefined);
      const gone = differences(before, await content()).filter((line) => line.endsWith(' is gone'));
      assert.deepEqual(firstOf(gone), [], `${status} deleted rows`);
    }
    await succeeds(run());
  },

  'wrong credentials end the run before anything is read': async ({ run }) => {
    await assert.rejects(
      run(() => ({ status: 401, body: {} })),
      { code: 'auth' },
    );
  },

  'a run that is stopped is carried on by the next': async ({ run, forward }) => {
    const stop = new AbortController();
    let left = 2;
    const stopping: Script = (asked) => {
      left -= 1;
      if (left === 0) stop.abort();
      return forward(asked);
    };
    const stopped = await run(stopping, stop.signal).catch(() => undefined);
    assert.ok(left <= 0 && stopped?.status !== 'succeeded', 'the run was not stopped');
    await succeeds(run());
  },
};

/** The values of settings, as a pipeline file would give them. */
function valuesOf({ settings }: Connector, given: Readonly<Record<string, unknown>>) {
  const textOf = (value: unknown) => (value === undefined ? undefined : String(value));
  return Object.fromEntries(
    Object.entries(settings).map(([key, { schema }]) => [key, schema.parse(textOf(given[key]))]),
  );
}

function checkTables({ tables }: Connector): void {
  for (const table of tables) {
    assert.ok(table.key.length > 0, `${nameOf(table)} has no key`);
    for (const [name, { about }] of [['the table', table] as const, ...Object.entries(table.declared)])
      assert.match(about, /^.{3,}\.$/, `${nameOf(table)}: ${name} is not described in a sentence`);
  }
}

async function contentOf({ tables }: Connector, { rows }: TemporaryWarehouse): Promise<Content> {
  const found = tables.map(async (table: DeclaredTable) => {
    const content = await rows<{ key: string; row: string }>(`
      select jsonb_build_array(${table.key.join(', ')})::text as key,
        (to_jsonb(t) - '{_run_id,_synced_at,_first_synced_at}'::text[])::text as row
      from ${nameOf(table)} t ${table.entity ? 'where _deleted_at is null' : ''}`);
    return [nameOf(table), new Map(content.map(({ key, row }) => [key, row]))] as const;
  });
  return new Map(await Promise.all(found));
}

/** One line for each row that is gone, new or another. */
const differences = (before: Content, after: Content): readonly string[] =>
  [...before].flatMap(([table, rows]) => {
    const now = after.get(table) ?? new Map<string, string>();
    const lost = [...rows].filter(([key, row]) => now.get(key) !== row);
    const added = [...now.keys()].filter((key) => !rows.has(key));
    return [
      ...lost.map(([key]) => `${table} ${key} ${now.has(key) ? 'is another' : 'is gone'}`),
      ...added.map((key) => `${table} ${key} is new`),
    ];
  });

/** The first lines, and how many more there are. */
const firstOf = (lines: readonly string[]): readonly string[] =>
  lines.length <= 5 ? lines : [...lines.slice(0, 5), `and ${lines.length - 5} more rows`];

/** The same answer with nothing in its list: the body itself, or its only list; undefined for what is no list, such as a record with an id. */
function emptied(body: unknown): unknown {
  const parsed: unknown = JSON.parse(String(body));
  if (Array.isArray(parsed)) return [];
  const envelope = Object(parsed) as Record<string, unknown>;
  const [list, another] = Object.keys(envelope).filter((key) => Array.isArray(envelope[key]));
  if (list === undefined || another !== undefined || 'id' in envelope) return undefined;
  const empty = { [list]: [], total: 0, isLast: true };
  // What leads to a next page goes, too.
  const kept = Object.entries(envelope).filter(([key]) => !/token|cursor|next/i.test(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, Reflect.get(empty, key) ?? value]));
}
