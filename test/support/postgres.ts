import crypto from 'node:crypto';
import fs from 'node:fs';
import pg from 'pg';
import { inject, vi } from 'vitest';
import { type ConnectOptions, connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { asOwner, databaseUrl } from './owner.ts';
import { isRenewed, layBy, removeDatabase, settingsOf, takeSpare } from './spares.ts';

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

/**
 * A database that a test of this worker is done with, emptied and with its sessions. A new session costs some 60 ms of a processor: it is set up,
 * and learns the tables and plans the statements that it meets for the first time. A run opens eight.
 */
let renewed: TestDatabase | undefined;

/** The migrated schema and nothing in it. Make one in `beforeAll` (about 0.1 s), drop it in `afterAll`. */
export async function testDatabase(options?: ConnectOptions): Promise<TestDatabase> {
  const { template, broken } = inject('postgres');
  if (broken !== undefined)
    throw new Error(`the migrations fail, so there is no schema to test with:\n${broken}`);
  // Sessions keep the method for queries that they were opened with: those of a test that watches it serve no other, nor is it lent any.
  const isPlain = options === undefined && !vi.isMockFunction(pg.Client.prototype.query);
  const ready = isPlain ? renewed : undefined;
  if (ready !== undefined) {
    renewed = undefined;
    return ready;
  }
  const name = newName();
  if (!(await takeSpare(name))) await createDatabase(name, `template ${template}`);
  const database = await opened(name, options, async () => {
    if (isPlain && renewed === undefined && (await isRenewed(database.warehouse, usual))) renewed = database;
    else {
      await database.warehouse.close();
      await layBy(name);
    }
  });
  const usual = await settingsOf(database.warehouse.pool);
  return database;
}

/** A database without any schema. */
export async function emptyDatabase(options: ConnectOptions = {}): Promise<TestDatabase> {
  const name = newName();
  await createDatabase(name, '');
  const database = await opened(name, options, async () => {
    await database.warehouse.close();
    await removeDatabase(name);
  });
  return database;
}

const newName = (): string => `${inject('postgres').names}${crypto.randomBytes(6).toString('hex')}`;

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
  options: ConnectOptions | undefined,
  leave: () => Promise<void>,
): Promise<TestDatabase> {
  const url = databaseUrl(name);
  const warehouse = await connect(url, options);
  return {
    name,
    url,
    warehouse,
    async drop() {
      if (failures.length === 0) return leave();
      await warehouse.close();
      fs.appendFileSync(inject('postgres').keep, `  ${name}: ${failures.join('; ')}\n`);
    },
  };
}
