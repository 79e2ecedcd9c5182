/** The views of `bi` as sources of dbt, with tests of their keys and relations: `dbt/models`. */
import type { Column, Contract, View } from './contract.ts';
import { dashboards, queriesOf } from './grafana.ts';
import { type Value, yamlFile } from './yaml.ts';

const comment = 'Written by npm run docs from the contract of bi; do not edit it by hand.';

export const sourcesFile = ({ version, views }: Contract): string =>
  yamlFile(comment, {
    version: 2,
    sources: [
      {
        name: 'tidemark',
        description: 'The reading schema of Tidemark: issues, advertising and workflows.',
        schema: 'bi',
        config: { meta: { bi_version: version } },
        tables: views.map(tableOf),
      },
    ],
  });

const tableOf = ({ name, comment: description, grain, key, nullable, relations, columns }: View): Value => ({
  name,
  description,
  config: { meta: { grain } },
  data_tests: [
    { unique_key: { arguments: { columns: key, ...(nullable.length > 0 && { nullable }) } } },
    ...relations
      .filter(({ complete }) => complete)
      .map((relation) => ({
        complete_relation: {
          arguments: {
            columns: relation.columns,
            to: `source('tidemark', '${relation.to}')`,
            key: relation.key,
          },
        },
      })),
  ],
  columns: columns.map(columnOf),
});

function columnOf({ name, comment: description, type, measure, personal }: Column): Value {
  const meta = { ...(measure && { ...measure }), ...(personal && { personal }) };
  return { name, description, data_type: type, ...(Object.keys(meta).length > 0 && { config: { meta } }) };
}

/** The dashboards that are shipped, with the views that they read. */
export const exposuresFile = (): string =>
  yamlFile(comment, {
    version: 2,
    exposures: dashboards.map((dashboard) => {
      const read = queriesOf(dashboard).flatMap((query) =>
        [...query.matchAll(/\bbi\.(\w+)/g)].map(([, view = '']) => view),
      );
      return {
        name: `grafana_${dashboard.file}`,
        label: dashboard.title,
        type: 'dashboard',
        description: `${dashboard.about} Provisioned from docs/bi/grafana/${dashboard.file}.json.`,
        owner: { name: 'Tidemark' },
        depends_on: [...new Set(read)].sort().map((view) => `source('tidemark', '${view}')`),
      };
    }),
  });
