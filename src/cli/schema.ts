/** A warehouse with the schema this program expects. */
import { Misconfigured } from '../core/errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Context } from './context.ts';
import { plural } from './text.ts';

/** Somebody waits before the screen: a server that is down is to be told soon, not after the patience of a night. */
export const soon = 3_000;

/** What the schema lacks, by name. Throws Misconfigured if it is newer than this program. */
export async function pendingSteps(warehouse: Warehouse): Promise<readonly string[]> {
  const { pending } = await import('../warehouse/migrate.ts');
  const { shippedTables } = await import('../connectors/tables.ts');
  return pending(warehouse, shippedTables);
}

/** Brings the schema up to date; gives what was applied, by name. */
export async function applySteps(warehouse: Warehouse, signal: AbortSignal): Promise<readonly string[]> {
  const { migrate } = await import('../warehouse/migrate.ts');
  const { shippedTables } = await import('../connectors/tables.ts');
  return migrate(warehouse, shippedTables, { signal });
}

/** The warehouse, brought up to date first: what a run needs. */
export async function current({ parts, signal }: Context, say: (text: string) => void): Promise<Warehouse> {
  const warehouse = await parts.warehouse();
  const missing = await pendingSteps(warehouse);
  if (missing.length === 0) return warehouse;
  say(`bringing the schema of ${warehouse.address} up to date (${plural(missing.length, 'step')})`);
  await applySteps(warehouse, signal);
  return warehouse;
}

/**
 * The warehouse as it is, for those who only look; undefined if Tidemark has never written there.
 * Throws Misconfigured if its schema is behind: what is looked for may not be there.
 */
export async function existing({ parts }: Context): Promise<Warehouse | undefined> {
  const warehouse = await parts.warehouse(soon);
  const { rows } = await warehouse.pool.query<{ there: boolean }>(
    `select to_regclass('ops.runs') is not null as there`,
  );
  if (!rows[0]?.there) return undefined;
  const missing = await pendingSteps(warehouse);
  if (missing.length > 0)
    throw new Misconfigured(
      `the schema of ${warehouse.address} is ${plural(missing.length, 'step')} behind this version (${missing.join(', ')}): run \`tidemark migrate\``,
    );
  return warehouse;
}

/** As `existing`, for questions that make no sense to an empty warehouse. Throws Misconfigured there. */
export async function filled(context: Context): Promise<Warehouse> {
  const warehouse = await existing(context);
  if (warehouse) return warehouse;
  const { address } = await context.parts.warehouse(soon);
  throw new Misconfigured(
    `the warehouse at ${address} is empty: run \`tidemark sync\` first, or \`tidemark demo\` to see it work`,
  );
}
