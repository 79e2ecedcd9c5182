import fs from 'node:fs';
import type pg from 'pg';
import { refreshStatistics } from '../src/warehouse/statistics.ts';

/** What a warehouse that is filled for measuring holds. All else follows from these numbers. */
export interface Sizes {
  readonly issues: number;
  /** Items of the changelog; about 45 % change the status. */
  readonly changes: number;
  readonly comments: number;
  readonly worklogs: number;
  readonly campaigns: number;
  /** Days of ad reports, the last one yesterday. */
  readonly days: number;
  readonly runs: number;
  /** Nights of syncs. */
  readonly nights: number;
}

/** The warehouse that goals are set for: a large company of six years, with a million rows of ads by day. */
export const bigSizes: Sizes = {
  issues: 200_000,
  changes: 1_660_000,
  comments: 400_000,
  worklogs: 200_000,
  campaigns: 50,
  days: 730,
  runs: 100_000,
  nights: 100,
};

/** In this order: later parts read what earlier ones wrote. */
const parts = [
  'start',
  'people',
  'plan',
  'sprints',
  'changes',
  'details',
  'issues',
  'ads',
  'reports',
  'insights',
  'workflow',
  'syncs',
  'end',
];

/** Makes the statistics that a sync makes, and vacuums as autovacuum does: nobody analyzes a real warehouse by hand. */
export async function asNightsLeaveIt(pool: pg.Pool): Promise<void> {
  await pool.query('vacuum');
  await refreshStatistics(pool);
}

/**
 * Fills an empty, migrated warehouse with SQL alone, deterministically: hashes take the place of chance, and the last day is yesterday.
 * The schema `fill` exists meanwhile. Connect as a superuser.
 */
export async function fillBigWarehouse(
  pool: pg.Pool,
  sizes: Sizes = bigSizes,
  say: (text: string) => void = () => undefined,
): Promise<void> {
  const client = await pool.connect();
  try {
    // Without triggers: all facts are derived at once, at the end.
    await client.query(
      `set work_mem = '256MB'; set synchronous_commit = off; set session_replication_role = replica`,
    );
    for (const [name, size] of Object.entries(sizes))
      await client.query('select set_config($1, $2, false)', [`fill.${name}`, String(size)]);
    for (const part of parts) {
      const begun = performance.now();
      await client.query(fs.readFileSync(new URL(`big-warehouse/${part}.sql`, import.meta.url), 'utf8'));
      say(`${part}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    }
    await client.query('set session_replication_role = origin; select pg_stat_force_next_flush()');
    await refreshStatistics(pool);
    const begun = performance.now();
    await client.query('select tracker.derive_all()');
    say(`facts: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    await asNightsLeaveIt(pool);
  } finally {
    client.release(true);
  }
}
