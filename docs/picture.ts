/**
 * Writes docs/picture.png, the picture of README: `npm run picture`. The terminal shows a real run of the demo, the
 * dashboard a real `serve` of the same company. It takes a minute, needs a Chromium in PATH, and draws
 * with the fonts of this machine.
 */
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { startCompany } from '../simulators/demo/company.ts';
import { tidemark } from '../test/support/tidemark.ts';
import { openBrowser } from '../test/unit/server/dashboard/browser.ts';
import { palettePng } from './palette-png.ts';

const root = path.resolve(import.meta.dirname, '..');
/** 1,120 pixels of a page, drawn 900 wide on a screen of twice the density. */
const scale = 1.6;

/** What `tidemark demo` prints first: its verdict, and the sources' own counts beside the warehouse's. */
async function terminal(env: NodeJS.ProcessEnv): Promise<string> {
  const program = path.join(root, 'src/tidemark.js');
  const { stdout } = await promisify(execFile)(process.execPath, [program, 'demo', '--quiet'], {
    cwd: env.HOME,
    env: { ...env, FORCE_COLOR: '1' },
  });
  return stdout.split('\n\n', 2).join('\n\n');
}

/** The overview after a first run of every pipeline, which a click on the page starts. */
async function dashboard(browser: Browser, env: NodeJS.ProcessEnv): Promise<Buffer> {
  const company = await startCompany(7, 5000);
  const serve = tidemark(['serve', '--port', '0'], { ...env, ...company.environment });
  try {
    const url = (await serve.line()).replace('Serving on ', '');
    const page = await browser.newPage({
      viewport: { width: 1080, height: 640 },
      deviceScaleFactor: scale,
      colorScheme: 'light',
    });
    await page.goto(url);
    await page.getByRole('button', { name: 'Run the first sync' }).click();
    await page.goto(url);
    // The page follows the night by itself.
    await page.locator('h1', { hasText: 'on time' }).waitFor({ timeout: 180_000 });
    return await page.screenshot();
  } finally {
    serve.child.kill('SIGTERM');
    await serve.ended();
    await company.close();
  }
}

const styles: Readonly<Record<string, string>> = {
  1: '<b>',
  2: '<i>',
  32: '<em>',
  22: '</i></b>',
  39: '</em>',
};

/** Text with the colours of a terminal as HTML. */
const colored = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with this character
    .replaceAll(/\u001b\[(\d+)m/g, (_, code: string) => styles[code] ?? '');

const together = (overview: Buffer, text: string): string => `<!doctype html><meta charset="utf-8"><style>
body { margin: 0; width: 1120px; background: #e9eef4; display: grid; }
div { grid-area: 1 / 1; background: #fff; border-radius: 9px; box-shadow: 0 4px 20px #1b274340; }
div::before { content: '●●●'; display: block; padding: 3px 12px; font: 13px sans-serif; letter-spacing: 4px;
  color: #aab4c0; background: #f4f6f9; border-radius: 9px 9px 0 0; }
#dashboard { width: 1080px; margin: 16px 20px auto; }
#terminal { margin: 414px 30px 20px auto; }
img { display: block; width: 1080px; border-radius: 0 0 9px 9px; }
pre { margin: 0; padding: 10px 24px 16px; font: 13.5px/1.3 ui-monospace, monospace; color: #24292f;
  font-variant-ligatures: none; }
i { font-style: normal; color: #6e7781; } em { font-style: normal; color: #1a7f37; }
</style><div id="dashboard"><img src="${source(overview)}"></div>
<div id="terminal"><pre><i>$</i> npx tidemark demo --quiet\n${colored(text)}</pre></div>`;

const source = (png: Buffer): string => `data:image/png;base64,${png.toString('base64')}`;

/** A page as PNG of few colours. */
async function photograph(browser: Browser, html: string): Promise<Buffer> {
  const page = await browser.newPage({ deviceScaleFactor: scale, viewport: { width: 1120, height: 600 } });
  await page.setContent(html);
  const [width, height, pixels] = await page.evaluate<[number, number, string]>(`(async () => {
    const image = new Image();
    image.src = '${source(await page.screenshot({ fullPage: true }))}';
    await image.decode();
    const { width, height } = image;
    const canvas = new OffscreenCanvas(width, height).getContext('2d');
    canvas.drawImage(image, 0, 0);
    return [width, height, new Uint8Array(canvas.getImageData(0, 0, width, height).data.buffer).toBase64()];
  })()`);
  return palettePng(width, height, Buffer.from(pixels, 'base64'));
}

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-picture-'));
// As root the embedded server runs as another user, which must be able to pass through.
fs.chmodSync(home, 0o711);
const env = { PATH: process.env.PATH, HOME: home, TIDEMARK_HOME: home };
const browser = await openBrowser();
try {
  const text = await terminal(env);
  const overview = await dashboard(browser, env);
  fs.writeFileSync(
    path.join(import.meta.dirname, 'picture.png'),
    await photograph(browser, together(overview, text)),
  );
} finally {
  await browser.close();
  fs.rmSync(home, { recursive: true, force: true });
}
