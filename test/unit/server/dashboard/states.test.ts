/** What a person sees first in each state of the warehouse. Where a Chromium exists, also that axe finds no fault and no page is wider than its window. */
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { chromiumPath, openBrowser } from './browser.ts';
import { type History, openHistory } from './history.ts';
import { textOf, visitor } from './visitor.ts';

/** A folder for a picture of each state, to look at: `TIDEMARK_PICTURES=/tmp/pictures`. */
const pictures = process.env.TIDEMARK_PICTURES;

const axeSource = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds. */
interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

let history: History;
let browser: Browser | undefined;
let page: Page | undefined;
beforeAll(async () => {
  history = await openHistory();
  if (chromiumPath === undefined) return;
  browser = await openBrowser();
  page = await browser.newPage({ timezoneId: 'Europe/Berlin', reducedMotion: 'reduce' });
});
afterAll(async () => {
  await browser?.close();
  await history.close();
});

const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';

/** Rows of a table are alike, and nights: axe looks at the first two. It would still walk over 200 rows, for seconds. */
const axeRun = `axe.run({ exclude: ['tbody tr:nth-child(n + 3)', '.nights li:nth-child(n + 3)'] }, { resultTypes: ['violations'] })`;

/** What is wrong with the look of a page: wide and dark, and light on a phone. */
async function faultsOf(
  seen: Page,
  name: string,
  address: string,
  withAxe = true,
): Promise<readonly string[]> {
  const found: string[] = [];
  await seen.goto(`${history.url}${address}`);
  if (withAxe) await seen.evaluate(axeSource);
  const show = async (colorScheme: 'light' | 'dark', width: number): Promise<void> => {
    await seen.emulateMedia({ colorScheme });
    await seen.setViewportSize({ width, height: 1000 });
    if (pictures === undefined) return;
    await seen.screenshot({ path: path.join(pictures, `${name}-${colorScheme}-${width}.png`) });
  };
  if (pictures !== undefined) await show('light', 2000);
  for (const [colorScheme, width] of [
    ['dark', 2000],
    ['light', 390],
  ] as const) {
    await show(colorScheme, width);
    const wider = Number(await seen.evaluate(overflow));
    if (wider > 0) found.push(`${wider} px wider than ${width} px`);
    if (!withAxe) continue;
    const { violations } = (await seen.evaluate(axeRun)) as { readonly violations: readonly Violation[] };
    for (const { id, nodes } of violations)
      found.push(`${colorScheme}, ${width} px: ${id}: ${nodes[0]?.html.slice(0, 200)}`);
  }
  return found;
}

const company =
  'tracker ads workflow support mobile billing web search platform security research brand'.split(' ');

/** Changes the newest run of a pipeline, and its request. */
const change = (pipeline: string, run: string, request: string) =>
  history.rows(
    `with newest as (update ops.runs set ${run} where run_id = (select max(run_id) from ops.runs where pipeline = $1))
    update ops.dag_runs set ${request} where dag_run_id = 'night-0.' || $1`,
    pipeline,
  );

const going = `status = 'running', finished_at = null`;

interface State {
  /** Those that ran; usually three. */
  readonly pipelines?: readonly string[];
  readonly never?: readonly string[];
  readonly begin?: () => Promise<unknown>;
  /** The title of the page. */
  readonly title: RegExp;
  /** True where the page has no part that another state does not show. */
  readonly textOnly?: boolean;
  /** What else the page says. */
  readonly says?: readonly RegExp[];
}

const states: Readonly<Record<string, State>> = {
  healthy: {
    pipelines: company,
    title: /^● Last night was on time: 12 of 12 pipelines, 4,\d+ rows\.$/,
    says: [/all 12 ● 12 all right/, /Rows changed 4,\d+ usually 4,\d+ to 4,\d+/],
  },
  'a source that does not answer': {
    begin: () =>
      change(
        'ads',
        `status = 'failed', error_code = 'unreachable', error_message = 'https://ads.example does not answer: connect ECONNREFUSED', requests = 0`,
        `status = 'failed'`,
      ),
    title:
      /^✕ Source ads does not answer since (\d{4}-\d\d-\d\d )?\d\d:00 \. 2 of 3 pipelines, .* rows so far\.$/,
    says: [/connect ECONNREFUSED Check its address and the network\. Run now/, /✕ 1 failed ● 2 all right/],
  },
  'a night that runs': {
    begin: async () => {
      await history.rows(`update ops.ticks set scheduled_for = now() - interval '3 minutes'`);
      await history.rows(
        `update ops.runs set started_at = now() - interval '3 minutes', finished_at = now() - interval '1 minute' where epoch = 0`,
      );
      await history.rows(`update ops.dag_runs set ${going} where dag_run_id = 'night-0'`);
      const began = `queued_at = now() - interval '3 minutes', started_at = now() - interval '2 minutes'`;
      await change('tracker', going, `${going}, ${began}`);
      await history.rows(`update ops.walks set opened_at = now() - interval '3 days' where source_id = 1`);
    },
    title: /^◐ The night is running: tracker\. 2 of 3 pipelines, .* rows so far\.$/,
    says: [
      /tracker sync , requested 3 m ago .*about \d m( \d+ s)? left/,
      /◐ 1 running ● 2 all right/,
      /^(?!.*What is broken)/,
    ],
  },
  'a night that takes longer than any before': {
    textOnly: true,
    begin: () => change('tracker', going, going),
    title: /^▲ Last night is late: tracker, [67] h( \d+ m)? after its usual end\./,
  },
  'a run that a person stopped': {
    begin: () => change('ads', `status = 'interrupted'`, `status = 'stopped'`),
    title: /^▲ Last night is incomplete: ads was stopped\./,
    says: [/of ads was stopped\. Its page says why\. A new run goes on where it ended\. Run now/],
  },
  'a run of the command line whose process died': {
    textOnly: true,
    begin: () =>
      history.rows(`update ops.runs set ${going}, trigger = 'manual', started_at = now() - interval '5 minutes'
      where run_id = (select max(run_id) from ops.runs where pipeline = 'ads')`),
    title: /^✕ Last night is incomplete: ads failed\./,
    says: [/A run of ads has died\. Its page says why\. A new run goes on where it ended\. Run now/],
  },
  'streams older than their target': {
    begin: () =>
      history.rows(`update ops.walks set opened_at = now() - interval '3 days'
      where source_id = (select source_id from ops.sources where name = 'ads') and stream <> 'users'`),
    title: /^▲ Last night was on time: .* ads is older than its target: issues, projects\.$/,
    says: [/▲ 1 to look at ● 2 all right/],
  },
  'records that could not become rows': {
    begin: () =>
      history.rows(`insert into ops.rejects (source_id, stream, record_key, sha256, payload, stage, code, message, first_run_id, last_run_id)
      select 1, 'issues', 'WEB-' || n, sha256(n::text::bytea), '{}', 'transform', 'bad_instant', '"soon" is not an instant', 1, 1
      from generate_series(1, 12) n`),
    title: /^▲ Last night was on time: .* 12 records of tracker could not become rows\.$/,
    says: [/▲ 1 to look at ● 2 all right/],
  },
  'a pipeline that never ran': {
    never: ['billing'],
    title: /^▲ Last night was on time: 3 of 3 pipelines.* Never ran: billing\.$/,
    says: [/● 3 all right ○ 1 never ran/],
  },
  'a pipeline whose schedule was not due': {
    textOnly: true,
    begin: async () => {
      await history.rows(
        `insert into ops.schedules (pipeline, does, cron, time_zone) values ('ads', 'sync', '0 2 * * 0', 'UTC')`,
      );
      await history.rows(
        `delete from ops.runs where pipeline = 'ads' and started_at > now() - interval '1 day'`,
      );
    },
    title: /^● Last night was on time: 2 of 2 pipelines/,
  },
  'no pipeline': {
    pipelines: [],
    title: /^○ No pipeline is configured\.$/,
    says: [/tidemark init makes the first one/],
  },
  'nothing loaded': {
    pipelines: [],
    never: ['tracker', 'ads'],
    title: /^○ Nothing has been loaded yet\.$/,
    says: [/Run the first sync/],
  },
  'a token that ends soon': {
    begin: () =>
      history.rows(`update ops.sources set token_ends_at = now() + interval '3 days' where name = 'ads'`),
    title: /^▲ Last night was on time: .* ads: the token ends on .*, in 3 days: make a new one before\.$/,
  },
  '200 pipelines': {
    pipelines: Array.from({ length: 200 }, (_, at) => `${company[at % 12]}_${at}`),
    title: /^● Last night was on time: 200 of 200 pipelines/,
    says: [/all 200 ● 200 all right/],
  },
};

test.each(Object.entries(states))(
  '%s: the first sentence says it',
  async (name, { pipelines, never, begin, title, textOnly, says }) => {
    await history.begin(pipelines ?? company.slice(0, 3), never === undefined ? {} : { never });
    await begin?.();
    const { body } = await visitor(history.app).get('/');
    expect(textOf(/<h1[\s\S]*<\/h1>/.exec(body)?.[0] ?? '').trim()).toMatch(title);
    for (const each of says ?? []) expect(textOf(body)).toMatch(each);
    if (page !== undefined && textOnly !== true)
      expect(await faultsOf(page, name.replaceAll(' ', '-'), '/', name !== '200 pipelines')).toEqual([]);
  },
);

test('the first sync is of every pipeline', async () => {
  await history.begin([], { never: company.slice(0, 2) });
  const { body } = await visitor(history.app).get('/');
  expect(body).toContain('formaction="/pipelines/nightly/start">Run the first sync');
});

test('a count of pipelines by state filters the table', async () => {
  await history.begin(company.slice(0, 3));
  await states['a source that does not answer']?.begin?.();
  const { body } = await visitor(history.app).get('/?state=bad');
  expect(
    [...body.matchAll(/<td class="" data-label="Pipeline">(.*?)<\/td>/g)].map(([, cell = '']) =>
      textOf(cell).trim(),
    ),
  ).toEqual(['✕ ads']);
});

test.skipIf(chromiumPath === undefined)('every other page is as readable, a wrong address too', async () => {
  await history.begin(company.slice(0, 3));
  await states['records that could not become rows']?.begin?.();
  await history.rows(`with held as (
      insert into ops.runs (pipeline, source_id, kind, trigger, status, epoch, finished_at)
      values ('tracker', 1, 'reconcile', 'manual', 'needs_attention', 999, now()) returning run_id)
    insert into ops.run_streams (run_id, source_id, stream, status, reason, finished_at, deleted)
    select run_id, 1, stream, status, 'more than 20 of 100 rows are gone', now(), deleted
    from held, (values ('issues', 'attention', 0), ('users', 'ok', 3)) s (stream, status, deleted)`);
  await history.rows(`insert into ops.notifications (notification_id, channel, pipeline, event, message, attempts, error)
    values ('m', 'slack', 'ads', 'failed', '{"title": "ads failed"}', 3, 'slack answered 404')`);
  await history.rows(`insert into ops.audit (role, address, action, pipeline, dag_run_id, http_status)
    values ('local', '127.0.0.1', 'POST /pipelines/:pipeline/start of the dashboard', 'ads', 'night-0.ads', 303)`);
  const addresses =
    '/pipelines/tracker /streams /streams/tracker/issues /runs /runs/1 /plan /backfill /rejects /rejects/1 /deletions /alerts /audit /settings /api /nothing-here'.split(
      ' ',
    );
  for (const address of addresses)
    expect([address, page && (await faultsOf(page, `page${address.replaceAll('/', '-')}`, address))]).toEqual(
      [address, []],
    );
  await page?.goto(`${history.url}/streams/tracker/issues`);
  expect(await page?.locator('canvas').count()).toBe(3);
  expect(await page?.locator('#zone').innerText()).toBe('times of Europe/Berlin, UTC on hover');
});
