import readline from 'node:readline';
import { createHttp } from '../src/http/client.ts';
import { budgetsOf } from '../src/warehouse/budgets.ts';
import { connect } from '../src/warehouse/connect.ts';

/** One of the processes of (h): prints a line when it is ready, and reads as many pages as a line says. Without a warehouse its limit is its own. */
const [baseUrl = '', perSecond = '', burst = '', warehouse] = process.argv.slice(2);
const budget = warehouse === undefined ? undefined : budgetsOf((await connect(warehouse)).db);
await budget?.pauses(baseUrl);
const rate = { name: 'all', perSecond: Number(perSecond), burst: Number(burst), covers: () => true };
const source = createHttp({ baseUrl, rates: [rate], concurrency: 16, ...(budget && { budget }) });
const { signal } = new AbortController();
console.log(JSON.stringify({}));
for await (const line of readline.createInterface({ input: process.stdin })) {
  const pages = Array.from({ length: Number(line) });
  await Promise.all(pages.map(() => source.send({ method: 'GET', path: '/x', endpoint: '/x' }, signal)));
  console.log(JSON.stringify(source.counters));
}
