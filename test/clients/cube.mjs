// Cube's compiler takes docs/bi/cube.yml, and Postgres takes the query that it makes of every measure: cube.mjs FILE URL.
// Its native part is a download of its own; the compiler and the older planner need it for templates only, of which the file has none.
import fs from 'node:fs';
import compiler from '@cubejs-backend/schema-compiler';
import pg from 'pg';

const [file, url] = process.argv.slice(2);
const model = fs.readFileSync(file, 'utf8');
const repository = {
  localPath: () => '/',
  dataSchemaFiles: async () => [{ fileName: 'cube.yml', content: model }],
};
const { prepareCompiler, PostgresQuery } = compiler;
const parts = prepareCompiler(repository, { nativeInstance: { newJinjaEngine: () => ({}) } });
await parts.compiler.compile();
const client = new pg.Client({ connectionString: url });
await client.connect();
let measures = 0;
for (const { config } of parts.metaTransformer.cubes) {
  const names = config.measures.map(({ name }) => name);
  const [dimension] = config.dimensions.filter(({ type }) => type === 'string');
  const query = { measures: names, dimensions: dimension ? [dimension.name] : [], timezone: 'UTC' };
  const [text, values] = new PostgresQuery({ ...parts, compiler: parts.compiler }, query).buildSqlAndParams();
  await client.query(text, values);
  measures += names.length;
}
await client.end();
console.log(`Cube: ${parts.metaTransformer.cubes.length} cubes, ${measures} measures`);
