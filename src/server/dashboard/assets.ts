/**
 * Style sheets, the script and the icon: read once, served under names that hold their hash, so that browsers
 * may keep them.
 */

import crypto from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';

const own = (name: string): string => path.join(import.meta.dirname, 'assets', name);

const ofPackage = (file: string): string => createRequire(import.meta.url).resolve(file);

const files = {
  'style.css': [own('style.css'), 'text/css; charset=utf-8'],
  'live.js': [own('live.js'), 'text/javascript; charset=utf-8'],
  'icon.svg': [own('icon.svg'), 'image/svg+xml'],
  'pico.css': [ofPackage('@picocss/pico/css/pico.classless.min.css'), 'text/css; charset=utf-8'],
  'uplot.css': [ofPackage('uplot/dist/uPlot.min.css'), 'text/css; charset=utf-8'],
  'uplot.js': [ofPackage('uplot/dist/uPlot.iife.min.js'), 'text/javascript; charset=utf-8'],
} as const;

/** Gives an asset's path, e.g. `/assets/9f2c1b7a4d.style.css`. */
export type AssetPath = (name: keyof typeof files) => string;

/** Serves the assets. Throws if one of the files is missing. */
export function assets(app: FastifyInstance): AssetPath {
  const paths = new Map<string, string>();
  for (const [name, [file, type]] of Object.entries(files)) {
    const body = fs.readFileSync(file);
    const hash = crypto.createHash('sha256').update(body).digest('hex').slice(0, 10);
    const url = `/assets/${hash}.${name}`;
    paths.set(name, url);
    app.get(url, { config: { isOpen: true } }, (_request, reply) =>
      reply.type(type).header('cache-control', 'public, max-age=31536000, immutable').send(body),
    );
  }
  return (name) => paths.get(name) ?? '';
}
