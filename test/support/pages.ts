import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

/** A block of code of a page. */
export interface Block {
  readonly language: string;
  readonly text: string;
  /** The heading above it. */
  readonly heading: string;
}

/** The text of a file, by its path below the repository. */
export const textOf = (file: string): string => fs.readFileSync(path.join(root, file), 'utf8');

/** The blocks of code of a page, in its order; of these languages only, where some are given. */
export function blocksOf(file: string, ...languages: readonly string[]): readonly Block[] {
  const blocks: Block[] = [];
  let heading = '';
  let open: { readonly language: string; readonly lines: string[] } | undefined;
  for (const line of textOf(file).split('\n')) {
    const fence = /^```(\w*)$/.exec(line.trim());
    if (open !== undefined && fence !== null) {
      blocks.push({ language: open.language, text: open.lines.join('\n'), heading });
      open = undefined;
    } else if (open !== undefined) open.lines.push(line);
    else if (fence !== null) open = { language: fence[1] ?? '', lines: [] };
    else if (line.startsWith('#')) heading = line.replace(/^#+ /, '');
  }
  if (open !== undefined) throw new Error(`${file}: a block of code is not closed`);
  return blocks.filter(({ language }) => languages.length === 0 || languages.includes(language));
}

/** The statements of a block of SQL. */
export const statementsOf = ({ text }: Block): readonly string[] =>
  text
    .replaceAll(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');

/** The rows below a heading of a table, cell by cell. A bar in a cell is written as \|. */
export function rowsOf(file: string, heading: string): readonly (readonly string[])[] {
  const lines = textOf(file).split('\n');
  const from = lines.indexOf(heading);
  if (from < 0) throw new Error(`${file} has no table with the heading ${heading}`);
  const below = lines.slice(from + 2);
  const end = below.findIndex((line) => !line.startsWith('|'));
  return below.slice(0, end < 0 ? undefined : end).map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  );
}
