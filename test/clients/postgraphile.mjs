// PostGraphile makes a GraphQL schema of bi, and counts the rows of every view through it: postgraphile.mjs URL VIEWS.
import { grafast } from 'grafast';
import { makeSchema } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';

const [url, views] = process.argv.slice(2);
const service = makePgService({ connectionString: url, schemas: ['bi'] });
const preset = { extends: [PostGraphileAmberPreset], pgServices: [service] };
const { schema, resolvedPreset } = await makeSchema(preset);
const lists = Object.keys(schema.getQueryType()?.getFields() ?? {}).filter((name) => name.startsWith('all'));
const source = `{ ${lists.map((name) => `${name} { totalCount }`).join(' ')} }`;
const { data, errors } = await grafast({ schema, resolvedPreset, requestContext: {}, source });
await service.release?.();
if (errors !== undefined) throw errors[0];
const rows = lists.reduce((sum, name) => sum + data[name].totalCount, 0);
if (lists.length < Number(views)) throw new Error(`${lists.length} lists of ${views} views`);
console.log(`PostGraphile: ${lists.length} lists, ${rows} rows`);
