/** Pipelines, their streams and their sources by name, and the warehouse in the state that a command needs. */
import { type Reporting, settingsOf } from '../bi/settings.ts';
import type { ConfiguredPipeline } from '../config/configured.ts';
import type { Connector, OpenOptions, ReadingOptions } from '../connectors/connector.ts';
import { openSource as open, readingOf } from '../connectors/connector.ts';
import { Misconfigured, saidBy } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import type { Source } from '../core/stream.ts';
import type { DeclaredTable } from '../core/table.ts';
import type { Vault } from '../core/vault.ts';
import { canRotate, excludedOf, ownerStreams } from '../engine/context/deps.ts';
import { type StreamState, streamStates } from '../queries/freshness.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { MigrateOptions } from '../warehouse/migrate.ts';
import type { Ask } from './ask.ts';
import type { Parts, ProgramSettings } from './assemble.ts';

/** A pipeline that can be named in commands. */
export type Pipeline = ConfiguredPipeline<Connector>;

export const configured = (config: ProgramSettings): readonly Pipeline[] =>
  config.pipelines.filter(({ values }) => values !== undefined);

/** Names of the pipelines with a reconcile. */
export const reconciled = (config: ProgramSettings): readonly string[] =>
  config.pipelines.flatMap(({ name, connector }) => (connector.reconciles ? [name] : []));

/** Names of the configured pipelines of `nightly`, in their order. */
export function partsOfNightly(config: ProgramSettings): readonly string[] {
  const ready = configured(config).map(({ name }) => name);
  return config.nightly.pipelines.filter((name) => ready.includes(name));
}

/** Throws Misconfigured for a schedule that cannot be read, or never comes. */
export async function checkSchedules({ pipelines, nightly }: ProgramSettings): Promise<void> {
  const { due } = await import('./schedule.ts');
  for (const { file, jobs } of [...pipelines, nightly])
    for (const { does, on } of jobs)
      try {
        due(on);
      } catch (cause) {
        throw new Misconfigured(`${file}: schedule of ${does}: ${saidBy(cause)}`, { cause });
      }
}

/** Throws Misconfigured, with the names that there are. */
export function unknown(kind: string, word: string, names: readonly string[]): never {
  throw new Misconfigured(`there is no ${kind} “${word}” · there are ${[...new Set(names)].join(', ')}`);
}

const namesOf = (all: readonly { readonly name: string }[]) => all.map(({ name }) => name);

/** The pipeline of that name, configured or not. Throws Misconfigured. */
export const pipelineOf = ({ pipelines }: ProgramSettings, name: string): Pipeline =>
  pipelines.find((each) => each.name === name) ?? unknown('pipeline', name, namesOf(pipelines));

/** The values of a pipeline's settings. Throws Misconfigured where it is not configured. */
function valuesOf({ name, needs, values }: Pipeline) {
  if (values !== undefined) return values;
  throw new Misconfigured(
    `pipeline ${name} is not configured · set ${needs} and its credentials in the environment or in .env (see .env.example), or run \`tidemark init\``,
  );
}

/** How a pipeline's source is read. Throws Misconfigured where it is not configured. */
export function readingOptions(
  config: ProgramSettings,
  name: string,
): ReadingOptions & { excludedBy: string } {
  const pipeline = pipelineOf(config, name);
  const excludedBy = pipeline.nameOf('exclude');
  return { ...readingOf(pipeline.connector, valuesOf(pipeline)), excludedBy };
}

/** The stream of that name (also `tracker.issues`) that the warehouse knows. Throws Misconfigured if there is none, or several pipelines have one. */
export async function streamNamed({ db }: Warehouse, name: string, pipeline?: string): Promise<StreamState> {
  const all = await streamStates(db);
  const isNamed = (each: StreamState) => each.stream === name || `${each.pipeline}.${each.stream}` === name;
  const found = all.filter((each) => isNamed(each) && (pipeline ?? each.pipeline) === each.pipeline);
  const names = all.map(({ stream }) => stream);
  const [one = unknown('stream', name, names), other] = found;
  if (other === undefined) return one;
  throw new Misconfigured(`several pipelines have a stream ${name} · write it as ${one.pipeline}.${name}`);
}

/** A pipeline with its named streams; without `streams` all are meant. */
export type Chosen = Pick<Ask, 'pipeline' | 'streams'>;

/**
 * The named pipelines (or all) and the named streams of each. A stream may be written `tracker.issues`; the name of a child table means its
 * parent's stream. Pipelines that have none of the named streams are left out. Sends nothing. Throws Misconfigured for a name that none has.
 */
export async function choose(
  { parts, version }: { readonly parts: Pick<Parts, 'config'>; readonly version: string },
  named: readonly string[],
  streams: readonly string[] = [],
): Promise<readonly Chosen[]> {
  const config = await parts.config();
  for (const name of named) valuesOf(pipelineOf(config, name));
  const chosen = named.length > 0 ? [...new Set(named)] : configured(config).map(({ name }) => name);
  if (chosen.length === 0)
    throw new Misconfigured(
      `nothing is configured · run \`tidemark init\`, or set ${config.pipelines.map(({ needs }) => needs).join(' or ')} and its credentials in the environment or in .env, or try \`tidemark demo\``,
    );
  if (streams.length === 0) return chosen.map((pipeline) => ({ pipeline }));
  const all = (await Promise.all(chosen.map((pipeline) => streamsOf(pipeline, config, version)))).flat();
  const own = all.map(({ stream }) => stream);
  for (const name of streams)
    if (!all.some(({ names }) => names.includes(name))) unknown('stream', name, own);
  const wanted = all.filter(({ names }) => streams.some((name) => names.includes(name)));
  return [...Map.groupBy(wanted, (each) => each.pipeline)].map(([pipeline, some]) => ({
    pipeline,
    streams: some.map(({ stream }) => stream),
  }));
}

/**
 * The streams of a configured pipeline. `tables`: its own name and its child tables'; `names`: also as `tracker.issues`; `site`: where its source is
 * read. Sends nothing to the source.
 */
export async function streamsOf(pipeline: string, config: ProgramSettings, version: string) {
  const source = await openSource(pipeline, config, version);
  await source.close();
  return source.streams.map(({ name: stream, children = {} }) => {
    const tables = [stream, ...Object.keys(children)];
    const names = [...tables, ...tables.map((name) => `${pipeline}.${name}`)];
    return { pipeline, stream, tables, site: source.baseUrl, names };
  });
}

/** How long a process waits for another one that renews the same token. */
const tokenLockMs = 60_000;

/** Sends nothing yet. Throws Misconfigured where the source is not configured, or its excluded streams are wrong. */
export async function openSource(
  pipeline: string,
  config: ProgramSettings,
  version: string,
  more: Pick<OpenOptions, 'observe' | 'onHttp' | 'budget' | 'vault'> = {},
): Promise<Source> {
  const found = pipelineOf(config, pipeline);
  const values = valuesOf(found);
  const { proxies, home } = config;
  const lock = async (file: string, signal: AbortSignal | undefined) =>
    (await import('../embedded/locks.ts')).exclusive(file, tokenLockMs, signal);
  const options = { pipeline, version, proxies, home, lock, ...more };
  const source = await open(found.connector, values, options);
  try {
    const { exclude, rotate } = readingOf(found.connector, values);
    const variable = found.nameOf('exclude');
    const turns = source.streams.flatMap((stream) => (canRotate(stream) ? [stream.name] : []));
    for (const [name, { most }] of Object.entries(rotate)) {
      const setting = found.nameOf('rotate');
      if (!turns.includes(name)) unknown(`stream for ${setting}:`, name, turns);
      const form = `write ${name}:1000, the requests of a run, or ${name}:90m, its minutes`;
      if (!(most >= 1)) throw new Misconfigured(`${setting}: ${form}`);
    }
    const all = source.streams.map(({ name }) => name);
    for (const entry of exclude) {
      const [name = '', owner] = entry.split(':', 2);
      const known = owner === undefined ? all : [...ownerStreams(source).values()];
      if (!known.includes(name)) unknown(`stream for ${variable}:`, name, known);
    }
    const excluded = excludedOf({ source, exclude });
    if (all.some((name) => !excluded.has(name))) return source;
    throw new Misconfigured(`${variable} leaves nothing of ${pipeline} to read`);
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** For commands that a person waits for: how long to try a server that does not answer. */
export const briefRetryMs = 3_000;

/** What the schema is made from: the connectors' tables, and what its views are told. */
type Pipelines = { readonly pipelines: readonly Pick<Pipeline, 'connector'>[] };
type Schema = Pipelines & { readonly reporting?: Reporting };

/** For `migrate`; where nothing is configured the views keep what they were told. */
const settingsFor = ({ reporting }: Schema) => (reporting ? { settings: settingsOf(reporting) } : {});

const migrations = () => import('../warehouse/migrate.ts');

/** Names of the steps that the schema lacks. Throws Misconfigured if it is newer than this version. */
export const pendingSteps = async (warehouse: Warehouse, config: Schema) =>
  (await migrations()).pending(warehouse, await tablesOf(config), settingsFor(config));

/** Brings the schema up to date; returns the names of the steps. */
export const applySteps = async (warehouse: Warehouse, config: Schema, how: MigrateOptions) =>
  (await migrations()).migrate(warehouse, await tablesOf(config), { ...settingsFor(config), ...how });

/** The tables that come with Tidemark, and those of other connectors. */
async function tablesOf({ pipelines }: Pipelines): Promise<readonly DeclaredTable[]> {
  const { shippedTables } = await import('../connectors/index.ts');
  return [...new Set([...shippedTables, ...pipelines.flatMap(({ connector }) => connector.tables)])];
}

interface OpeningOptions {
  readonly parts: Pick<Parts, 'warehouse' | 'config'>;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  readonly warn: (text: string) => void;
}

/** The warehouse, brought up to date first: what a run needs. `warn` hears what a reader kept from being replaced. */
export async function current({ parts, signal, say, warn }: OpeningOptions): Promise<Warehouse> {
  const warehouse = await parts.warehouse();
  const config = await parts.config();
  const missing = await pendingSteps(warehouse, config);
  if (missing.length === 0) return warehouse;
  say(`bringing the schema of ${warehouse.address} up to date (${plural(missing.length, 'step')})`);
  await applySteps(warehouse, config, { signal, goOn: warn });
  return warehouse;
}

/** Where sources keep what they renew: the warehouse, if there is a key for it. */
export async function vaultOf(opening: OpeningOptions): Promise<Vault | undefined> {
  const { secretKey } = await opening.parts.config();
  if (secretKey === undefined) return undefined;
  const { vaultIn } = await import('../warehouse/vault.ts');
  return vaultIn(() => current(opening), secretKey);
}

/** The warehouse as it is, for reading. Throws Misconfigured if Tidemark has never written there, or its schema is old. */
export async function filled({ parts }: Pick<OpeningOptions, 'parts'>): Promise<Warehouse> {
  const warehouse = await parts.warehouse(briefRetryMs);
  const { address } = warehouse;
  // What the views are told waits for the next run.
  const missing = (await pendingSteps(warehouse, await parts.config())).filter((step) => step !== 'settings');
  const { rows } = await warehouse.pool.query(`select where to_regclass('ops.runs') is not null`);
  if (rows.length > 0 && missing.length === 0) return warehouse;
  const empty = `the warehouse at ${address} is empty · run \`tidemark sync\` first, or \`tidemark demo\` to see it work`;
  const steps = `${plural(missing.length, 'step')} behind this version (${missing.join(', ')})`;
  const old = `the schema of ${address} is ${steps} · run \`tidemark migrate\``;
  throw new Misconfigured(rows.length > 0 ? old : empty);
}
