/** The description of the control API for programs, as it must stand in docs/openapi.json. Asks no server and no database. */
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import type { Control } from '../src/scheduler/control.ts';
import { buildApp } from '../src/server/api/app.ts';
import type { AnyDatabase } from '../src/warehouse/connect.ts';

/** Nobody is asked anything: only the routes are looked at. */
const nothing = (): never => {
  throw new Error('the documentation asks nothing');
};

const control: Control = {
  list: nothing,
  status: nothing,
  start: nothing,
  stop: nothing,
  retry: nothing,
  history: nothing,
  run: nothing,
  log: nothing,
  plan: nothing,
};

/** The text of docs/openapi.json. The version is left out: it would make the page stale with every release. */
export async function openapiDocument(): Promise<string> {
  const db = new Kysely<AnyDatabase>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (each) => new PostgresIntrospector(each),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
  const app = await buildApp({
    control,
    catalogue: { dags: [] },
    db,
    tokens: {},
    version: 'v1',
    unready: async () => [],
    signal: new AbortController().signal,
    trouble: () => undefined,
  });
  await app.ready();
  const document = JSON.stringify(app.swagger(), null, 2);
  await app.close();
  return `${document}\n`;
}
