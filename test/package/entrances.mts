// The other entrances of the package: what larger connectors, and tests of connectors, import.
import assert from 'node:assert/strict';
import { checkConnector, scriptedServer } from 'tidemark/testing';
import { memoizeAsync } from 'tidemark/toolkit';

const server = await scriptedServer(() => ({ status: 200, body: { id: 7 } }));
const ask = memoizeAsync(async (signal): Promise<unknown> => (await fetch(server.url, { signal })).json());
assert.deepEqual(await ask(AbortSignal.timeout(60_000)), { id: 7 });
assert.equal(typeof checkConnector, 'function');
await server.close();
