import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openScene, type Scene } from './scene.ts';
import { textOf, type Visitor, visitor } from './visitor.ts';

let scene: Scene;
let person: Visitor;

/** A site that was synced. */
beforeAll(async () => {
  scene = await openScene();
  person = visitor(scene.app);
  await scene.rig.sync();
});
afterAll(() => scene.close());

const shown = async (address: string): Promise<string> => textOf((await person.get(address)).body);

/** Deletes issues of a project at the source, which are more than that were there before, and reconciles. */
async function reconcileWithout(count: number): Promise<readonly string[]> {
  const { rig, idle } = scene;
  const gone = [...rig.tracker.oracle().issues.values()]
    .filter(({ projectKey, deleted }) => projectKey === 'PAY' && !deleted)
    .slice(0, count);
  for (const { id } of gone) rig.tracker.state.delete(id);
  rig.tracker.clock.advance(60_000);
  const { headers } = await person.send('/deletions', '/pipelines/tracker/reconcile');
  expect(headers.location).toMatch(/^\/requests\/tracker\/tracker-reconcile-/);
  await idle();
  return gone.map(({ key }) => key);
}

describe('deletions', () => {
  test('are said to be none before the first reconcile', async () => {
    expect(await shown('/deletions')).toMatch(
      /● No deletion is held back\. .* Found deletions Nothing yet\./,
    );
  });

  test('are listed by run, and each run with the rows that it marked', async () => {
    const gone = await reconcileWithout(2);
    expect(await shown('/deletions')).toMatch(/just now tracker issues 2 2 reconcile/);
    const { body } = await person.get('/deletions');
    expect(body).toContain('href="/deletions?run=2"');
    const rows = await shown('/deletions?run=2');
    for (const key of gone) expect(rows).toMatch(new RegExp(` tracker ${key} tracker\\.issues `));
    expect(await shown('/deletions?run=1')).toContain('Deleted rows Nothing yet.');
  });

  test('that the guard holds back are named, with the reason, the next step and its button', async () => {
    await reconcileWithout(25);
    const text = await shown('/deletions');
    expect(text).toContain('▲ The deletion guard holds deletions back.');
    expect(text).toMatch(/issues: more than 20 of \d+ rows are gone at the source; nothing was deleted/);
    expect(text).toContain('Look first whether npx tidemark check prints the right address and account');
    expect(text).toMatch(/Reconcile (\d+, ){9}\d+ and 15 others just now 3 /);
    expect((await person.get('/deletions')).body).toContain('formaction="/pipelines/tracker/reconcile"');
  });
});

describe('the audit', () => {
  test('says who asked for what, where, and what was refused', async () => {
    await person.post('/pipelines/tracker/start', {});
    const text = await shown('/audit');
    expect(text).toMatch(
      /just now tracker start ▲ refused no token needed 127\.0\.0\.1 dashboard .* tracker reconcile ● done no token needed 127\.0\.0\.1 dashboard/,
    );
    expect((await person.get('/audit')).body).toMatch(
      /href="\/requests\/tracker\/tracker-reconcile-[^"]+">request</,
    );
  });

  test('is read page by page, and filtered by the address', async () => {
    await scene.rig.rows(`insert into ops.audit (at, role, address, action, pipeline, params, http_status)
      select '2020-01-01', 'operate', '10.0.0.' || n % 200, 'POST /api/v1/dags/:dagName/start', 'ads', 'N=' || n, 202
      from generate_series(1, 150) n`);
    const numbers = async (address: string) =>
      [...(await shown(address)).matchAll(/ ads start N=(\d+) ● done operate token 10\.0\.0\.\d+ API /g)].map(
        ([, n]) => n,
      );
    const first = await numbers('/audit?pipeline=ads');
    expect(first).toHaveLength(100);
    expect((await person.get('/audit?pipeline=ads')).body).toContain('href="/audit?pipeline=ads&amp;page=2"');
    const both = [...first, ...(await numbers('/audit?pipeline=ads&page=2'))];
    expect(new Set(both).size).toBe(150);
    expect(await shown('/audit?pipeline=none')).toContain('Attempts Nothing yet.');
  });
});

test('settings are shown by pipeline with where each comes from, and no secret', async () => {
  const { body } = await person.get('/settings');
  const text = textOf(body);
  expect(text).toMatch(/ tracker Setting Value From TRACKER_BASE_URL https:\/\/tracker\.example environment/);
  expect(text).toContain(' TRACKER_API_TOKEN *** environment ');
  expect(text).toMatch(/ All pipelines, and serve .* LOG_LEVEL – default .* TIDEMARK_PORT 9000 environment/);
  expect(body).not.toContain('a token that no page shows');
});
