/** A worker of `tracker` that dies of the first request it takes up, as the kernel kills one that takes too much memory: `URL NAME`. */
import { connect } from '../../../../src/warehouse/connect.ts';
import { catalogue, conduct, dag, runnerOf } from '../orchestra.ts';

const [url = '', name = ''] = process.argv.slice(2);
const warehouse = await connect(url, { max: 10 });
const runner = runnerOf(() => process.exit(137));
await conduct(warehouse, catalogue(dag('tracker')), runner, { name });
