// The other entrances of the package: what larger connectors, and tests of connectors, import.
import assert from 'node:assert/strict';
import type { BiIssues, TidemarkDatabase } from 'tidemark/database';
import { checkConnector, scriptedServer } from 'tidemark/testing';
import { memoizeAsync } from 'tidemark/toolkit';

const server = await scriptedServer(() => ({ status: 200, body: { id: 7 } }));
const ask = memoizeAsync(async (signal): Promise<unknown> => (await fetch(server.url, { signal })).json());
assert.deepEqual(await ask(AbortSignal.timeout(60_000)), { id: 7 });
assert.equal(typeof checkConnector, 'function');
await server.close();

/** What a row holds, by the types of the package. */
export const keyOf = (issue: TidemarkDatabase['bi.issues']): string =>
  issue.issue_id satisfies BiIssues['issue_id'];
