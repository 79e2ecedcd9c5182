/**
 * Writes what the program itself knows into the docs: `npm run docs`. docs/streams.md, docs/reference and docs/openapi.json come from its declarations,
 * docs/bi and dbt from a warehouse that is made for it and removed, the figures of the README from the last bench.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import type { Opened } from '../src/connectors/connector.ts';
import { openWorkflow } from '../src/connectors/dagu/source.ts';
import { shippedTables } from '../src/connectors/index.ts';
import { openTracker } from '../src/connectors/jira/source.ts';
import { openAds } from '../src/connectors/spotify-ads/source.ts';
import type { Stream } from '../src/core/stream.ts';
import { type Child, type DeclaredTable, nameOf, type Table } from '../src/core/table.ts';
import { bearer } from '../src/http/auth.ts';
import { cookbookPage } from './bi/cookbook.ts';
import { contractFiles } from './bi/files.ts';
import { temporaryWarehouse } from './bi/warehouse.ts';
import { withFigures } from './figures.ts';
import { code, table } from './markdown.ts';
import { openapiDocument } from './openapi.ts';
import { referencePages } from './reference.ts';

/** Every source as it is without anything found out about a server: nothing is asked. */
export const sources = (): readonly { readonly title: string; readonly source: Opened }[] => [
  {
    title: 'The issue tracker',
    source: openTracker({
      baseUrl: 'http://127.0.0.1:1',
      auth: bearer({ reveal: () => 'none' }),
      start: new Date(0),
      changes: 'auto',
      groups: [],
    }),
  },
  {
    title: 'The advertising platform',
    source: openAds({
      baseUrl: 'http://127.0.0.1:1/ads/v3',
      credentials: { kind: 'token', accessToken: { reveal: () => 'none' } },
      sdkHeader: 'X-Service-Ads-Sdk',
      accountIds: [],
      start: new Date(0),
      reportHosts: [],
      restateDays: [3, 14, 90],
      concurrency: 1,
      requestsPerSecond: 0,
      reportRequestsPerSecond: 0,
    }),
  },
  { title: 'The workflow engine', source: openWorkflow({ baseUrl: 'http://127.0.0.1:1', dags: [] }) },
];

/** The page as it must stand in docs/streams.md. */
export async function streamsPage(): Promise<string> {
  const parts: string[] = [];
  for (const { title, source } of sources()) {
    parts.push(`# ${title}`, '', ...overview(source.streams));
    parts.push(...source.streams.flatMap((stream) => chapter(stream, source.streams)));
    await source.http.close();
  }
  return `${[head, ...parts].join('\n')}\n`;
}

const head = `# Streams

Written by \`npm run docs\` from the streams and tables themselves; do not edit it by hand. How a stream is read is described in
[architecture.md](architecture.md), what reports and BI tools should query in [warehouse.md](warehouse.md). \`npx tidemark streams\` shows
the same with the state of your own warehouse.

Every table also has \`source_id\` (first in its key), \`_synced_at\` (when the row's content last changed here) and \`_run_id\` (which run
wrote it). Tables of entities also have \`_deleted_at\` (null while it lives), \`_row_hash\` and \`_extra\` (what the source gives and no
column holds).
`;

const overview = (streams: readonly Stream[]): readonly string[] => [
  ...table(
    ['stream', 'table', 'read from', 'promised', 'read as'],
    streams.map((stream) => [
      `[${stream.name}](#${stream.name})`,
      code(nameOf(stream.table)),
      code(stream.endpoint),
      stream.optional ? 'no' : 'yes',
      brief(stream),
    ]),
  ),
  '',
  '*Promised* means that the contract of the source has the endpoint. Where one that is not promised answers 404, its stream becomes',
  '`unavailable` and fails nothing else; what else counts as a missing endpoint: [operations.md](operations.md#missing-and-forbidden).',
  '',
];

const brief = (stream: Stream): string => {
  if (stream.days !== undefined) return stream.days.oldest === 0 ? 'a snapshot a day' : 'days';
  if (stream.windows !== undefined) return 'windows of time';
  return stream.partitions === undefined ? 'one list' : `one list a row of ${code(stream.partitions.table)}`;
};

const chapter = (stream: Stream, all: readonly Stream[]): readonly string[] => {
  const root = stream.table;
  return [
    `## ${stream.name}`,
    '',
    stream.about,
    '',
    ...table(
      ['', ''],
      [
        ['read from', code(stream.endpoint)],
        ['promised', stream.optional ? 'no' : 'yes'],
        ['read as', reading(stream)],
        [
          'after',
          stream.after === undefined
            ? 'nothing'
            : stream.after.map((name) => `[${name}](#${name})`).join(', '),
        ],
        ['without the endpoint', without(stream)],
        ['rows no longer shown', absence(stream, all)],
        ['table', tableLine(root)],
        ['version', root.order === undefined ? 'a later read wins' : `the larger ${code(root.order)} wins`],
      ],
    ),
    '',
    ...columnsOf(root),
    '',
    ...Object.entries(stream.children ?? {}).flatMap(([name, child]) => childOf(stream, name, child)),
    ...mentionsOf(stream),
  ];
};

/** The table of what records name in passing, once: with the stream of records that have parts. */
const mentionsOf = (stream: Stream): readonly string[] => {
  const { mentions } = stream;
  if (mentions === undefined || stream.children === undefined) return [];
  return [
    `### ${mentions.name}`,
    '',
    `${tableLine(mentions)} Written by every stream.`,
    '',
    ...columnsOf(mentions),
    '',
  ];
};

const without = ({ fallback, optional }: Stream): string => {
  if (fallback !== undefined) return fallback.reason;
  return optional ? 'the stream is `unavailable`, its table stays as it is' : 'the stream fails';
};

const reading = (stream: Stream): string => {
  const { days } = stream;
  if (days === undefined) return listReading(stream);
  const owners = stream.partitions === undefined ? '' : `, for each row of ${code(stream.partitions.table)}`;
  if (days.oldest === 0) return `a snapshot of the present day${owners}`;
  const again = days.reread.map(
    ({ every, back }) => `${back} days every ${every === 1 ? 'day' : `${every} days`}`,
  );
  const reach = days.oldest === undefined ? '' : `; the server keeps ${days.oldest} days`;
  return `whole days, at most ${days.longest} at once${owners}; read again: the last ${again.join(', ')}${reach}; a day is replaced as a whole`;
};

const listReading = ({ windows, partitions }: Stream): string => {
  if (windows !== undefined)
    return 'first and when all is walked: windows of `created`, halved until each is small; then what changed (see `TRACKER_CHANGES`)';
  if (partitions === undefined) return 'the whole list in each run';
  const owner = Object.entries(partitions.columns).map(
    ([part, column]) => `${code(part)} = its ${code(column)}`,
  );
  const which = partitions.where === undefined ? '' : ` where ${code(partitions.where)}`;
  const active =
    partitions.active === undefined
      ? ' in each run'
      : `; in each run those where ${code(partitions.active)} and those that came or changed since all were read, once a week all`;
  return `one list for each row of ${code(partitions.table)}${which} (${owner.join(', ')})${active}`;
};

/** The last case is what `run/reconcile.ts` takes a reconciliation of. */
const absence = (stream: Stream, all: readonly Stream[]): string => {
  const { absent, table } = stream;
  if (absent === 'delete')
    return `removed, once the list${stream.partitions === undefined ? '' : ' of their owner'} was read completely`;
  const parts = all.find(
    ({ partitions }) => partitions?.unreferenced !== undefined && partitions.table === nameOf(table),
  );
  if (parts !== undefined)
    return `kept, until nothing names them any more and [${parts.name}](#${parts.name}) finds them gone (404): that sets \`_deleted_at\``;
  return stream.exists !== undefined && table.entity && stream.partitions === undefined
    ? 'kept; a `reconcile` compares all ids, asks for each one that is missing, and sets `_deleted_at`'
    : 'kept; no reconciliation is taken of them';
};

const childOf = (
  stream: Stream,
  name: string,
  { table: child, parent, absent }: Child,
): readonly string[] => {
  const gone = child.entity ? 'get `_deleted_at`' : 'are removed';
  const fate = absent === 'kept' ? 'stay' : gone;
  return [
    `### ${stream.name}: ${name}`,
    '',
    `${tableLine(child)} Belongs to its parent by ${parent.map(code).join(', ')}; rows that a parent no longer has ${fate}.`,
    '',
    ...columnsOf(child),
    '',
  ];
};

const tableLine = (of: Table): string =>
  `${code(nameOf(of))}, key (${['source_id', ...of.key].map(code).join(', ')}). ${declarationOf(of).about}`;

const columnsOf = (of: Table): readonly string[] =>
  table(
    ['column', 'type', 'what it is'],
    Object.entries(declarationOf(of).declared).map(([column, { type, about }]) => [
      of.key.includes(column) ? `**${code(column)}**` : code(column),
      type,
      about,
    ]),
  );

function declarationOf(of: Table): DeclaredTable {
  const found = shippedTables.find((table) => nameOf(table) === nameOf(of));
  if (found === undefined) throw new Error(`${nameOf(of)} is not declared in src/connectors/index.ts`);
  return found;
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(new URL('streams.md', import.meta.url), await streamsPage());
  for (const [name, text] of await referencePages()) writeFileSync(new URL(name, import.meta.url), text);
  writeFileSync(new URL('openapi.json', import.meta.url), openapiDocument());
  const readme = new URL('../README.md', import.meta.url);
  const performance = readFileSync(new URL('performance.md', import.meta.url), 'utf8');
  writeFileSync(readme, withFigures(readFileSync(readme, 'utf8'), performance));
  writeFileSync(new URL('bi/cookbook.md', import.meta.url), cookbookPage());
  const files = await temporaryWarehouse(contractFiles);
  for (const [name, text] of files) writeFileSync(new URL(`../${name}`, import.meta.url), text);
}
