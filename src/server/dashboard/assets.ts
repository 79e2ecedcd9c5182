/** Styles and scripts: our own files, Pico and uPlot, read once, served under names that hold their hash, so browsers may keep them for ever. */

import crypto from 'node:crypto';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { FastifyInstance } from 'fastify';

const own = path.join(import.meta.dirname, 'assets');
const { resolve } = createRequire(import.meta.url);

const files = {
  'style.css': path.join(own, 'style.css'),
  'live.js': path.join(own, 'live.js'),
  'plots.js': path.join(own, 'plots.js'),
  'log.js': path.join(own, 'log.js'),
  'icon.svg': path.join(own, 'icon.svg'),
  'pico.css': resolve('@picocss/pico/css/pico.classless.min.css'),
  'uplot.css': resolve('uplot/dist/uPlot.min.css'),
  'uplot.js': resolve('uplot/dist/uPlot.iife.min.js'),
} as const;

export type AssetName = keyof typeof files;

/** Gives an asset's path, e.g. `/assets/style.9f2c1b7a4d.css`. */
export type AssetPath = (name: AssetName) => string;

const kinds: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Serves the assets. Throws if one of the files is not there. */
export function assets(app: FastifyInstance): AssetPath {
  const made = new Map(
    (Object.keys(files) as readonly AssetName[]).map((name) => {
      const body = fs.readFileSync(files[name]);
      const { name: stem, ext } = path.parse(name);
      const hash = crypto.createHash('sha256').update(body).digest('hex').slice(0, 10);
      return [
        name,
        { file: `${stem}.${hash}${ext}`, body, type: kinds[ext] ?? 'application/octet-stream' },
      ] as const;
    }),
  );
  const byFile = new Map<string, { readonly body: Buffer; readonly type: string }>(
    [...made.values()].map((asset) => [asset.file, asset]),
  );
  app.get<{ Params: { file: string } }>('/assets/:file', { config: { open: true } }, (request, reply) => {
    const asset = byFile.get(request.params.file);
    if (asset === undefined) return reply.code(404).type('text/plain').send('no such file\n');
    return reply
      .type(asset.type)
      .header('cache-control', 'public, max-age=31536000, immutable')
      .send(asset.body);
  });
  return (name) => `/assets/${made.get(name)?.file ?? name}`;
}
