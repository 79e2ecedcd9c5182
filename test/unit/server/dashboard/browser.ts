import fs from 'node:fs';
import path from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** The machine's Chromium; undefined if there is none. */
export const chromiumPath = (process.env.PATH ?? '')
  .split(path.delimiter)
  .flatMap((folder) => names.map((name) => path.join(folder, name)))
  .find((file) => fs.existsSync(file));

if (chromiumPath === undefined)
  console.warn(
    '\n  NOT TESTED: the dashboard in a browser. There is no Chromium in PATH; `apt-get install chromium` brings one.\n',
  );

/** Without a window. As root its sandbox does not work. */
export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    ...(chromiumPath === undefined ? {} : { executablePath: chromiumPath }),
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
