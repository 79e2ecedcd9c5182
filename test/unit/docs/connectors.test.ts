import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { checkConnector, scriptedServer } from '../../../simulators/testing/index.ts';
import { testDatabase } from '../../support/postgres.ts';

const page = fs.readFileSync(path.resolve(import.meta.dirname, '../../../docs/connectors.md'), 'utf8');

/** The block of code that begins with this comment. */
const block = (head: string): string =>
  new RegExp(`\`\`\`ts\n// ${head}[^]*?\`\`\``).exec(page)?.[0].slice(6, -3) ?? '';

test('the connector of docs/connectors.md keeps what every connector promises', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-docs-'));
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }));
  fs.writeFileSync(path.join(folder, 'shop.ts'), block('shop.ts'));
  const { shop } = await import(pathToFileURL(path.join(folder, 'shop.ts')).href);
  const order = { status: 'open', created_at: '2024-01-01T00:00:00Z', updated_at: '2024-01-01T00:00:00Z' };
  const orders = [1, 2].map((id) => ({ ...order, id, items: [{ sku: 'A', quantity: id }] }));
  const server = await scriptedServer(({ path: asked }) => ({
    status: 200,
    headers: { date: new Date().toUTCString() },
    body: asked.startsWith('/me') ? { name: 'me' } : { orders },
  }));
  const database = await testDatabase();
  onTestFinished(async () => {
    await server.close();
    await database.drop();
  });
  const { url } = server;
  const settings = (baseUrl: string) => ({ baseUrl, token: 'x' });
  await checkConnector(shop, { url, settings, databaseUrl: database.url });
  const { rows } = await database.warehouse.pool.query(
    'select order_id, quantity from shop.order_items order by 1',
  );
  expect(rows).toEqual([
    { order_id: '1', quantity: '1' },
    { order_id: '2', quantity: '2' },
  ]);
});
