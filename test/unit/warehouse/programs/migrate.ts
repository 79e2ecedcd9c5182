import { connect } from '../../../../src/warehouse/connect.ts';
import { migrate } from '../../../../src/warehouse/migrate.ts';

/** `migrate.ts <url> <folder>`: migrates and prints the names of the steps it applied. */
const [url = '', folder = ''] = process.argv.slice(2);
const warehouse = await connect(url);
try {
  console.log(JSON.stringify(await migrate(warehouse, [], { folder: new URL(folder) })));
} finally {
  await warehouse.close();
}
