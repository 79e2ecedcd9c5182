/** Holds the tracker's lease with a run, as a sync of the command line does, until it is killed: `URL`. Says `holding`. */
import { takeLease } from '../../../../src/engine/state/lease.ts';
import { connect } from '../../../../src/warehouse/connect.ts';

const [url = ''] = process.argv.slice(2);
const warehouse = await connect(url, { max: 2 });
const lease = await takeLease(warehouse.pool, 'tracker');
await warehouse.pool.query(
  `insert into ops.runs (pipeline, source_id, kind, status, epoch) values ('tracker', 1, 'sync', 'running', $1)`,
  [lease.epoch],
);
console.log('holding');
setInterval(() => undefined, 1000);
