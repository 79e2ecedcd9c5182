import crypto from 'node:crypto';
import fs from 'node:fs';
import { inject } from 'vitest';
import { type ConnectOptions, connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { asOwner, databaseUrl } from './owner.ts';
import { layBy, removeDatabase, takeSpare } from './spares.ts';

export { asOwner, databaseUrl };

/** A database of one test file. */
export interface TestDatabase {
  readonly name: string;
  /** Connection string with password. */
  readonly url: string;
  readonly warehouse: Warehouse;
  /** Closes the warehouse and removes the database; keeps it, and says its name, if a test of this file failed. */
  drop(): Promise<void>;
}

let failures: string[] = [];

/** Called by the run's setup when a test of this file has failed. */
export const noteFailure = (test: string): void => {
  failures.push(test);
};

/** Called by the run's setup when a file begins: the files of a worker share this module. */
export const forgetFailures = (): void => {
  failures = [];
};

/** The migrated schema and nothing in it. Make one in `beforeAll` (about 0.1 s), drop it in `afterAll`. */
export async function testDatabase(options: ConnectOptions = {}): Promise<TestDatabase> {
  const { template, broken } = inject('postgres');
  if (broken !== undefined)
    throw new Error(`the migrations fail, so there is no schema to test with:\n${broken}`);
  const name = newName();
  if (!(await takeSpare(name))) await createDatabase(name, `template ${template}`);
  return opened(name, options, layBy);
}

/** A database without any schema. */
export async function emptyDatabase(options: ConnectOptions = {}): Promise<TestDatabase> {
  const name = newName();
  await createDatabase(name, '');
  return opened(name, options, removeDatabase);
}

const newName = (): string => `test_${crypto.randomBytes(6).toString('hex')}`;

/** Makes a database; `how`: the options of CREATE DATABASE. */
export async function createDatabase(name: string, how: string): Promise<void> {
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
}

async function opened(
  name: string,
  options: ConnectOptions,
  leave: (name: string) => Promise<void>,
): Promise<TestDatabase> {
  const url = databaseUrl(name);
  const warehouse = await connect(url, options);
  return {
    name,
    url,
    warehouse,
    async drop() {
      await warehouse.close();
      if (failures.length > 0)
        fs.appendFileSync(inject('postgres').keep, `  ${name}: ${failures.join('; ')}\n`);
      else await leave(name);
    },
  };
}
