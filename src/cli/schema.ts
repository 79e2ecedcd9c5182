/** A warehouse with the schema that this version expects, and the verbs that set things up. */
import fs from 'node:fs';
import path from 'node:path';
import { Misconfigured } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Context, Verb } from './context.ts';
import { print } from './output.ts';
import { knownStream } from './pipelines.ts';

/** For commands that a person waits for: how long to try a server that does not answer. */
export const shortPatienceMs = 3_000;

/** Names of the steps that the schema lacks. Throws Misconfigured if it is newer than this version. */
export const pendingSteps = async (warehouse: Warehouse): Promise<readonly string[]> =>
  (await import('../warehouse/migrate.ts')).pending(warehouse, await shippedTables());

/** Brings the schema up to date; returns the names of the steps. */
export const applySteps = async (warehouse: Warehouse, signal: AbortSignal): Promise<readonly string[]> =>
  (await import('../warehouse/migrate.ts')).migrate(warehouse, await shippedTables(), { signal });

const shippedTables = async () => (await import('../connectors/tables.ts')).shippedTables;

/** The warehouse, brought up to date first: what a run needs. */
export async function current(
  open: () => Promise<Warehouse>,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<Warehouse> {
  const warehouse = await open();
  const missing = await pendingSteps(warehouse);
  if (missing.length === 0) return warehouse;
  say(`bringing the schema of ${warehouse.address} up to date (${plural(missing.length, 'step')})`);
  await applySteps(warehouse, signal);
  return warehouse;
}

/** The warehouse as it is, for reading; undefined if Tidemark has never written there. Throws Misconfigured if its schema is old. */
export async function existing({ parts }: Context): Promise<Warehouse | undefined> {
  const warehouse = await parts.warehouse(shortPatienceMs);
  const missing = await pendingSteps(warehouse);
  const { rows } = await warehouse.pool.query(`select where to_regclass('ops.runs') is not null`);
  if (rows.length === 0) return undefined;
  if (missing.length === 0) return warehouse;
  throw new Misconfigured(
    `the schema of ${warehouse.address} is ${plural(missing.length, 'step')} behind this version (${missing.join(', ')}): run \`tidemark migrate\``,
  );
}

/** As `existing`. Throws Misconfigured where the warehouse is empty. */
export async function filled(context: Context): Promise<Warehouse> {
  const warehouse = await existing(context);
  if (warehouse !== undefined) return warehouse;
  const { address } = await context.parts.warehouse();
  throw new Misconfigured(
    `the warehouse at ${address} is empty: run \`tidemark sync\` first, or \`tidemark demo\` to see it work`,
  );
}

/** Applies the steps of the schema that are missing, or only names them. */
export const migrate: Verb<{ readonly dryRun?: boolean }> = async (context, { dryRun = false }) => {
  context.say('opening the warehouse');
  const warehouse = await context.parts.warehouse(shortPatienceMs);
  const steps = dryRun ? await pendingSteps(warehouse) : await applySteps(warehouse, context.signal);
  const word = dryRun ? 'would apply' : 'applied';
  return print(context, { warehouse: warehouse.address, [dryRun ? 'pending' : 'applied']: steps }, () =>
    steps.length === 0
      ? [`The schema of ${warehouse.address} is up to date.`]
      : steps.map((step) => `${word} ${step}`),
  );
};

/** Forgets a stream's watermark and open reads; its rows stay. */
export const reset: Verb<{ readonly stream: string; readonly pipeline?: string }> = async (
  context,
  { stream, pipeline },
) => {
  const warehouse = await filled(context);
  const found = await knownStream(warehouse.db, stream, pipeline);
  const { resetStream } = await import('../engine/reset.ts');
  await resetStream(warehouse, found.pipeline, found.stream);
  return print(context, { reset: found }, () => [
    `${found.pipeline}.${found.stream} is reset: its rows stay, the next sync reads all of it again.`,
  ]);
};

/** Writes `.env` from the example, readable by its owner only; leaves an existing one as it is. */
export const init: Verb = async (context) => {
  const file = path.resolve('.env');
  const isNew = !fs.existsSync(file);
  const example = new URL('../../.env.example', import.meta.url);
  if (isNew) fs.writeFileSync(file, fs.readFileSync(example), { mode: 0o600, flag: 'wx' });
  return print(context, { file, created: isNew }, () => [
    isNew ? `Wrote ${file}.` : `${file} exists already; it was not changed.`,
    'Fill in the credentials of a source there, then run `tidemark check` and `tidemark sync`.',
  ]);
};
