/** The files that are written from the contract of `bi`. */
import type { Pool } from 'pg';
import { readContract } from './contract.ts';
import { schemaFile } from './schema.ts';

/** Text by path, from the root of the project. */
export async function contractFiles(pool: Pick<Pool, 'query'>): Promise<ReadonlyMap<string, string>> {
  const contract = await readContract(pool);
  return new Map([['docs/bi/bi.schema.json', schemaFile(contract)]]);
}
