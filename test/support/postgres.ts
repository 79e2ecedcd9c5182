import crypto from 'node:crypto';
import fs from 'node:fs';
import pg from 'pg';
import { inject } from 'vitest';
import { type ConnectOptions, connect, type Warehouse } from '../../src/warehouse/connect.ts';

/** A database of one test file. */
export interface TestDatabase {
  readonly name: string;
  /** Connection string with password. */
  readonly url: string;
  readonly warehouse: Warehouse;
  /** Closes the warehouse and removes the database; keeps it, and says its name, if a test of this file failed. */
  drop(): Promise<void>;
}

const failures: string[] = [];

/** Called by the run's setup when a test of this file has failed. */
export const noteFailure = (test: string): void => {
  failures.push(test);
};

/** A fresh copy of the migrated schema. Make one in `beforeAll` (about 0.1 s), drop it in `afterAll`. */
export async function testDatabase(options: ConnectOptions = {}): Promise<TestDatabase> {
  const { template, broken } = inject('postgres');
  if (broken !== undefined) throw new Error(`the migrations fail, so there is no schema to test with:\n${broken}`);
  return create(`template ${template}`, options);
}

/** A database without any schema. */
export const emptyDatabase = (options: ConnectOptions = {}): Promise<TestDatabase> => create('', options);

async function create(how: string, options: ConnectOptions): Promise<TestDatabase> {
  const name = `test_${crypto.randomBytes(6).toString('hex')}`;
  await asOwner(async (client) => {
    // Copying fails while somebody is connected to the template, a moment of autovacuum included.
    for (let attempt = 1; ; attempt++) {
      try {
        await client.query(`create database ${name} ${how}`);
        return;
      } catch (error) {
        if (attempt === 20) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  });
  const url = databaseUrl(name);
  const warehouse = await connect(url, options);
  return { name, url, warehouse, drop: () => drop(name, warehouse) };
}

async function drop(name: string, warehouse: Warehouse): Promise<void> {
  await warehouse.close();
  if (failures.length > 0) {
    const line = `  ${name}: ${failures.join('; ')}\n`;
    fs.appendFileSync(inject('postgres').keep, line);
    return;
  }
  await asOwner((client) => client.query(`drop database if exists ${name} with (force)`));
}

/** Connection string of a database of the run's cluster, as its owner. */
export function databaseUrl(name: string): string {
  const url = new URL(inject('postgres').url);
  url.pathname = `/${name}`;
  return url.href;
}

/** Runs statements as the cluster's owner (a superuser), in the database `postgres`. */
export async function asOwner<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: inject('postgres').url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
