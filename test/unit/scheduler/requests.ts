import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type Control, openControl } from '../../../src/scheduler/control.ts';
import type { Queue } from '../../../src/scheduler/queue.ts';
import type { DagCatalogue } from '../../../src/scheduler/run-request.ts';
import type { Warehouse } from '../../../src/warehouse/connect.ts';
import { type TestDatabase, testDatabase } from '../../support/postgres.ts';
import { emptyRequests, queueOf } from './orchestra.ts';

/** A warehouse whose requests each test of a file begins without. */
export interface Requests {
  readonly database: TestDatabase;
  readonly warehouse: Warehouse;
  readonly queue: Queue;
  readonly control: Control;
  // biome-ignore lint/suspicious/noExplicitAny: rows are compared with what they must be
  query(text: string, values?: readonly unknown[]): Promise<any[]>;
}

/** Call it once a file. The fields are there as soon as the tests run. */
export function openRequests(known: DagCatalogue): Requests {
  const opened = {} as { -readonly [Name in keyof Requests]: Requests[Name] };
  beforeAll(async () => {
    opened.database = await testDatabase({ max: 20 });
    opened.warehouse = opened.database.warehouse;
    opened.queue = await queueOf(opened.warehouse);
    opened.control = openControl(opened.warehouse, known, opened.queue, async () => []);
  });
  afterAll(() => opened.database.drop());
  beforeEach(() => emptyRequests(opened.warehouse));
  opened.query = async (text, values = []) => (await opened.warehouse.pool.query(text, [...values])).rows;
  return opened;
}
