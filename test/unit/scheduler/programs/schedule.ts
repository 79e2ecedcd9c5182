/** One process of several that schedule and work on one warehouse: `URL NAME CRON DAG…`. Says `ready`, begins at a line, ends at SIGTERM. */
import { once } from 'node:events';
import { connect } from '../../../../src/warehouse/connect.ts';
import { catalogue, conduct, dag, report, runnerOf, timed } from '../orchestra.ts';

const [url = '', name = '', cron = '', ...dags] = process.argv.slice(2);
const warehouse = await connect(url, { max: 10 });
console.log('ready');
await once(process.stdin, 'data');
process.stdin.pause();
const known = catalogue(...dags.map((each) => dag(each, { timed: [timed(cron)] })));
const runner = runnerOf(async (ask) => {
  await warehouse.pool.query('insert into public.done values ($1, $2)', [ask.pipeline, name]);
  return report(ask);
});
const { service, troubles } = await conduct(warehouse, known, runner, {
  name,
});
await once(process, 'SIGTERM');
await service.end();
await warehouse.close();
for (const trouble of troubles) console.error(trouble);
process.exitCode = troubles.length === 0 ? 0 : 1;
