/** The contract as JSON, for programs: docs/bi/bi.schema.json. */
import { readFileSync } from 'node:fs';
import { broken } from './checks.ts';
import type { Contract, View } from './contract.ts';

const file = new URL('bi.schema.json', import.meta.url);

/** The contract as it was committed last. */
export const committed = (): Contract => JSON.parse(readFileSync(file, 'utf8'));

/** One line a column, so that a difference is read column by column. Throws where the contract breaks that of the last version. */
export function schemaFile(contract: Contract): string {
  const old = committed();
  const faults = major(contract.version) > major(old.version) ? [] : broken(old, contract);
  if (faults.length > 0)
    throw new Error(
      `columns of bi are only ever added, at the end of a view:\n  ${faults.join('\n  ')}\n` +
        'Of a view that was never released, remove the old lines from docs/bi/bi.schema.json first.',
    );
  const { version, views } = contract;
  return `{\n"version": ${JSON.stringify(version)},\n"views": [\n${views.map(viewText).join(',\n')}\n]\n}\n`;
}

const major = (version: string): number => Number.parseInt(version, 10);

function viewText({ relations, columns, ...view }: View): string {
  const list = (items: readonly object[]): string =>
    items.length === 0 ? '[]' : `[\n${items.map((item) => `  ${JSON.stringify(item)}`).join(',\n')}\n]`;
  const facts = Object.entries(view).map(([name, value]) => `"${name}": ${JSON.stringify(value)}`);
  return `{${facts.join(',\n')},\n"relations": ${list(relations)},\n"columns": ${list(columns)}}`;
}
