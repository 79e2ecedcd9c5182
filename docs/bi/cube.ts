/** The contract as a model for Cube: docs/bi/cube.yml. */
import type { Column, Contract, Relation, View } from './contract.ts';
import { type Metric, metrics } from './metrics.ts';
import { type Value, yamlFile } from './yaml.ts';

export const cubeFile = ({ views }: Contract): string =>
  yamlFile('Written by npm run docs from the contract of bi; do not edit it by hand.', {
    cubes: views.map(cubeOf),
  });

function cubeOf(view: View): Value {
  const { name, comment, relations, columns } = view;
  const joins = joinsOf(view, relations);
  return {
    name,
    sql_table: `bi.${name}`,
    description: plain(comment),
    ...(joins.length > 0 && { joins }),
    dimensions: columns.filter((column) => !isSum(column)).map((column) => dimensionOf(view, column)),
    measures: [
      { name: 'row_count', type: 'count', description: plain(`Rows: ${view.grain}.`) },
      ...columns.filter(isSum).map((column) => sumOf(column, column.name)),
      ...columns.filter(isLeast).map((column) => sumOf(column, `${column.name}_at_least`)),
      ...metrics.filter((metric) => metric.view === name).map((metric) => metricOf(view, metric)),
    ],
  };
}

/** What may be summed without a condition is a measure; all other numbers are dimensions, from which metrics are computed. */
const isSum = ({ measure }: Column): boolean => measure?.additivity === 'additive';

/** Sums that leave out what the source hides have a name that says so. */
const isLeast = ({ measure }: Column): boolean =>
  measure?.additivity === 'lower_bound' && measure.within === undefined;

const sumOf = ({ name, comment }: Column, as: string): Value => ({
  name: as,
  sql: `{CUBE}.${name}`,
  type: 'sum',
  description: plain(comment),
});

const dimensionOf = ({ key }: View, { name, type, comment }: Column): Value => ({
  name,
  sql: `{CUBE}.${name}`,
  type: typeOf(type),
  description: plain(comment),
  ...(key.includes(name) && { primary_key: true, public: true }),
});

function typeOf(type: string): string {
  if (type === 'boolean') return 'boolean';
  if (/^(date|timestamp)/.test(type)) return 'time';
  return /^(smallint|integer|bigint|numeric|real|double)/.test(type) ? 'number' : 'string';
}

/** One join to each cube: Cube knows no roles. The relation by the target's own column names goes first. */
function joinsOf({ key }: View, relations: readonly Relation[]): readonly Value[] {
  const first = relations.filter(
    ({ to }, index) => relations.findIndex((other) => other.to === to) === index,
  );
  return first.map(({ columns, to, key: target }) => ({
    name: to,
    relationship:
      columns.length === key.length && columns.every((column) => key.includes(column))
        ? 'one_to_one'
        : 'many_to_one',
    sql: columns.map((column, index) => `{CUBE}.${column} = {${to}}.${target[index]}`).join(' and '),
  }));
}

/** The name says that it is a metric: several are sums of a column of their own name. */
function metricOf({ columns }: View, { name, about, value, where }: Metric): Value {
  const names = new RegExp(`\\b(${columns.map((column) => column.name).join('|')})\\b`, 'g');
  const sql = filtered(value, where).replaceAll(names, '{CUBE}.$1');
  return { name: `metric_${name}`, sql, type: 'number', description: about };
}

/** Cube has no condition for a computed measure: every aggregate gets it. */
const filtered = (value: string, where: string | undefined): string =>
  where === undefined
    ? value
    : value.replaceAll(
        /((?:percentile_cont\([^)]*\) within group |sum|avg|count)\([^)]*\))(?: filter \(where ([^)]*)\))?/g,
        (_, aggregate, own) => `${aggregate} filter (where ${[where, own].filter(Boolean).join(' and ')})`,
      );

/** Braces are expressions to Cube, also in a description. */
const plain = (text: string): string => text.replaceAll('{', '(').replaceAll('}', ')');
