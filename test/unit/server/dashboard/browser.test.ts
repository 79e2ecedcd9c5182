import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { silence } from '../../../../simulators/shared/faults.ts';
import { chromiumPath, openBrowser } from './browser.ts';
import { openScene, type Scene } from './scene.ts';

const token = 'a token of some length';
let scene: Scene;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let complaints: string[];

describe.skipIf(chromiumPath === undefined)('in a browser', () => {
  beforeAll(async () => {
    scene = await openScene({ token });
    await scene.rig.sync();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await scene.close();
  });
  const open = async (options: Parameters<Browser['newContext']>[0] = {}): Promise<void> => {
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    page = await context.newPage();
    page.setDefaultTimeout(20_000);
    complaints = [];
    // Also what the content security policy holds back.
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('request', (request) => {
      if (!request.url().startsWith(scene.url)) complaints.push(`asked for ${request.url()}`);
    });
  };
  const signIn = async (): Promise<void> => {
    await page.goto(`${scene.url}/`);
    await page.getByLabel('API token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${scene.url}/`);
  };
  beforeEach(() => open());
  afterEach(async () => {
    await context.close();
    expect(complaints).toEqual([]);
  });

  const stateOf = () => page.locator('#head .state').first().innerText();

  test('a person signs in, starts a backfill, watches it, stops it, and retries it to its end', async () => {
    await signIn();
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toContain('Last night was on time');

    await page.getByRole('link', { name: 'Backfill' }).click();
    await page.getByLabel('From').fill('2026-01-01');
    await page.getByLabel('To').fill('2026-03-01');
    await page.getByRole('button', { name: 'Show the plan' }).click();
    expect(await page.locator('#plan').innerText()).toMatch(/1 stream, about \d+ records/);
    expect(await scene.asked()).toEqual([]);

    // The source holds the line.
    const held = scene.rig.tracker.script.at(
      {
        // A page of issues, not one of the questions before them.
        match: (request) => /"maxResults":100,.*changelog/.test(JSON.stringify(request.body) ?? ''),
        times: Number.POSITIVE_INFINITY,
      },
      silence,
    );
    await page.getByRole('button', { name: 'Start the backfill' }).click();
    await page.waitForURL(/\/requests\/tracker\//);
    await page.getByText('0 of 1 slice done, 1 reading').waitFor();
    await page.getByText(/run \d+ \(backfill\) started/).waitFor();
    expect(await stateOf()).toContain('running');
    await expect.poll(() => held.fired).toBeGreaterThan(0);

    await page.getByText('Stop…').click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('#head .state', { hasText: 'stopped' }).waitFor();
    scene.rig.tracker.script.clear();

    await page.getByRole('button', { name: 'Retry' }).click();
    await page.locator('#head .state', { hasText: 'succeeded' }).waitFor();
    await page.getByText('1 of 1 slice done').waitFor();
    const runs = await scene.rig.rows<{ status: string }>(
      `select status from ops.runs where kind = 'backfill' order by run_id`,
    );
    expect(runs.map((run) => run.status)).toEqual(['interrupted', 'succeeded']);
  });

  test('without scripts every number is there, and a backfill can be started', async () => {
    await context.close();
    await open({ javaScriptEnabled: false });
    await signIn();
    expect(await page.locator('#state').innerText()).toContain('Last night was on time');
    expect(await page.locator('#zone').innerText()).toBe('times are UTC');
    expect(await page.locator('#pipelines path').count()).toBeGreaterThan(0);
    await page.goto(`${scene.url}/backfill?plan=1&pipeline=tracker&from=2026-02-01&to=2026-03-01`);
    await page.getByRole('button', { name: 'Start the backfill' }).click();
    await page.waitForURL(/\/requests\/tracker\//);
    await scene.idle();
    await page.reload();
    expect(await stateOf()).toContain('succeeded');
  });

  test('the keyboard leads everywhere, an open page follows what happens elsewhere, and no page is wider than its window', async () => {
    await signIn();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    const skip = await page.getByRole('link', { name: 'Skip to the content' }).boundingBox();
    expect(skip?.x).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');

    await page.getByRole('link', { name: 'Runs' }).click();
    const rows = page.locator('#runs tbody tr');
    const before = await rows.count();
    const loaded = await page.evaluate('performance.timeOrigin');
    await scene.rig.sync({ streams: ['projects'] });
    await expect.poll(() => rows.count()).toBe(before + 1);
    expect(await page.evaluate('performance.timeOrigin')).toBe(loaded);

    const paths = [
      '/',
      '/streams',
      '/streams/tracker/issues',
      '/runs',
      '/runs/1',
      '/plan',
      '/backfill',
      '/rejects',
      '/deletions',
      '/audit',
      '/settings',
    ];
    const found: string[] = [];
    for (const path of paths) {
      await page.setViewportSize({ width: 320, height: 800 });
      await page.goto(`${scene.url}${path}`);
      for (const width of [320, 768, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        const over = await page.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        if (over !== 0) found.push(`${path} at ${width}: ${over}`);
      }
    }
    expect(found).toEqual([]);
  });
});
