/**
 * Endpoints that the vendor has deprecated (its OpenAPI) are not called, nor taught in the documents. `/rest/api/3/priority` and
 * `/rest/api/3/resolution` were; `/rest/api/3/search` was gone within months of that (CHANGE-2046).
 */

import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { shortPage } from '../../../../simulators/shared/faults.ts';
import {
  allNamed,
  type Described,
  describedFile,
  describedIn,
  templateOf,
} from '../../../support/jira-endpoints.ts';
import { differences } from '../../../support/oracle.ts';
import { testRig } from '../../../support/rig.ts';

const described: readonly Described[] = JSON.parse(fs.readFileSync(describedFile, 'utf8'));

/** What is wrong with endpoints: `path`, or `METHOD path`. */
const faultsOf = (endpoints: Iterable<string>, of: readonly Described[] = described): readonly string[] =>
  [...new Set(endpoints)].flatMap((endpoint) => {
    const known = of.filter((one) => [one.path, `${one.method} ${one.path}`].includes(endpoint));
    const next = 'run node test/support/jira-endpoints.ts with the folder of the vendor’s documents';
    if (known.length === 0)
      return [`${endpoint} is in no document of the vendor, or not yet in the file: ${next}`];
    return known.some(({ deprecated }) => deprecated) ? [`${endpoint} is deprecated`] : [];
  });

test('every endpoint that source and documents name is in the vendor’s documents, and not deprecated', () => {
  const named = allNamed();
  expect(named.get('src/connectors/jira/streams/platform.ts')).toContain('/rest/api/3/priorityscheme');
  expect([...named.values()].flat().length).toBeGreaterThan(20);
  expect(faultsOf([...named.values()].flat())).toEqual([]);
});

test('every request of a run is one that the vendor’s documents have, and not deprecated', async () => {
  const rig = await testRig({
    issues: 60,
    dialect: 'vendor',
    embedded: { changelog: 3, comments: 1, worklogs: 1 },
  });
  // Page by page of one scheme.
  const short = { endpoint: '/rest/api/3/priorityscheme', times: Number.POSITIVE_INFINITY };
  rig.tracker.script.at(short, shortPage(1));
  expect(await rig.sync()).toMatchObject({ status: 'succeeded' });
  expect(await differences(rig)).toEqual([]);
  expect(await rig.reconcile()).toMatchObject({ status: 'succeeded' });
  const sent = rig.tracker.log.map(({ method, endpoint }) => `${method} ${templateOf(endpoint)}`);
  expect(sent).toContain('GET /rest/api/3/priorityscheme');
  expect(faultsOf(sent)).toEqual([]);
});

test('a deprecated endpoint, and one that is not in the documents, would be noticed', () => {
  const old: Described = { method: 'GET', path: '/rest/api/3/project', deprecated: true, scopes: [] };
  expect(faultsOf(['GET /rest/api/3/project', '/rest/api/3/nothing'], [old])).toMatchObject([
    'GET /rest/api/3/project is deprecated',
    expect.stringContaining('/rest/api/3/nothing is in no document'),
  ]);
});

const documents = path.resolve(import.meta.dirname, '../../../../../shared/specs');
test.skipIf(!fs.existsSync(documents))('the file says what the vendor’s documents say', () => {
  expect(described).toEqual(JSON.parse(describedIn(documents)));
});
