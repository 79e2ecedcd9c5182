/**
 * `npm run size`: statements of each room of `src` beside its budget, and its code lines (no blanks, no comments), which
 * have a limit for all of `src` only: counted room by room they would reward packing.
 */
import fs from 'node:fs';
import path from 'node:path';
import { nodesOf, type SyntaxNode, syntaxOf } from './syntax.ts';

/** Statements of each room when its budget was last set. */
export const budgets: Readonly<Record<string, number>> = {
  'main.ts': 96,
  'index.ts': 17,
  'toolkit.ts': 33,
  'run.ts': 34,
  'tidemark.js': 64,
  core: 1412,
  config: 634,
  http: 955,
  reading: 984,
  'connectors/jira': 1687,
  'connectors/spotify-ads': 1790,
  'connectors/dagu': 678,
  'connectors/connector.ts': 76,
  engine: 2374,
  load: 1358,
  planner: 145,
  queries: 606,
  bi: 343,
  warehouse: 905,
  embedded: 399,
  runs: 590,
  scheduler: 740,
  outbound: 406,
  'server/api': 588,
  'server/dashboard': 1340,
  cli: 1540,
};

/** How far a room may grow beyond its budget. */
const slack = 0.05;

/** The most statements that a room may have; one without a budget is too small to need one. */
export const allowedIn = (room: string): number => Math.floor((budgets[room] ?? 50) * (1 + slack));

/** The limit for all of `src` in code lines: issues state their budgets in lines. */
export const limit = 26_860;

const source = path.resolve(import.meta.dirname, '../src');

/** Statements other than those that only hold others, or none. */
const isStatement = (type: string): boolean =>
  /Statement$/.test(type) && !['BlockStatement', 'EmptyStatement', 'LabeledStatement'].includes(type);

/** Declarations of one name each; those of variables are counted by name. */
const declarations = new Set([
  'FunctionDeclaration',
  'ClassDeclaration',
  'TSDeclareFunction',
  'TSTypeAliasDeclaration',
  'TSInterfaceDeclaration',
  'TSEnumDeclaration',
  'TSModuleDeclaration',
  'ImportDeclaration',
  'ExportAllDeclaration',
]);

function weightOf(node: SyntaxNode, parent: SyntaxNode | undefined): number {
  if (parent?.type === 'ClassBody' || parent?.type === 'TSInterfaceBody') return 1;
  if (node.type === 'VariableDeclaration')
    return /^For/.test(parent?.type ?? '') ? 0 : node.declarations.length;
  if (node.type === 'ExportNamedDeclaration') return node.declaration === null ? 1 : 0;
  if (node.type === 'ExportDefaultDeclaration') return declarations.has(node.declaration.type) ? 0 : 1;
  if (node.type === 'ArrowFunctionExpression') return node.expression ? 1 : 0;
  return isStatement(node.type) || declarations.has(node.type) ? 1 : 0;
}

/**
 * How much code a file holds, whatever its layout: its statements, its declarations (imports too), and the members of
 * classes and interfaces. An arrow function without braces counts as the `return` it stands for. Members of object
 * literals and of literal types, elements, arguments, blocks, labels and the heads of loops do not count.
 */
export function statements(name: string, text: string): number {
  let sum = 0;
  for (const { node, parent } of nodesOf(syntaxOf(name, text))) sum += weightOf(node, parent);
  return sum;
}

/** Lines of a file that hold code: blank lines and comments are left out, strings and templates are kept. */
export function codeLines(text: string): number {
  // Scanned token by token: a string or a template is taken whole, so that `//` and `/*` within one start no comment.
  const tokens =
    /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[\s\S]|[^`\\])*`|\/\*[\s\S]*?\*\/|(?<![:\\])\/\/[^\n]*/g;
  const bare = text.replace(tokens, (token) => (/^\/[/*]/.test(token) ? token.replace(/[^\n]/g, '') : token));
  return bare.split('\n').filter((line) => line.trim() !== '').length;
}

/** Files of `src` that count: code and style sheets. */
export const sourceFiles = (): readonly string[] =>
  fs
    .readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|js|css|sql)$/.test(name));

interface Size {
  statements: number;
  lines: number;
  files: number;
}

/** Sizes by room; a file that lies in no room counts as a room of its own. Style sheets have lines only. */
export function sizes(): ReadonlyMap<string, Readonly<Size>> {
  const found = new Map<string, Size>();
  for (const file of sourceFiles()) {
    const room = Object.keys(budgets).find((name) => file === name || file.startsWith(`${name}/`)) ?? file;
    const size = found.get(room) ?? { statements: 0, lines: 0, files: 0 };
    const text = fs.readFileSync(path.join(source, file), 'utf8');
    if (/\.[jt]s$/.test(file)) size.statements += statements(file, text);
    size.lines += codeLines(text);
    size.files += 1;
    found.set(room, size);
  }
  return found;
}

/** The sum over all rooms. */
export const total = (found: Iterable<Size>, of: keyof Size): number =>
  [...found].reduce((sum, size) => sum + size[of], 0);

const excess = (of: number, allowed: number): string => (of > allowed ? `  ${of - allowed} too many` : '');

if (process.argv[1] === import.meta.filename) {
  const found = sizes();
  const row = (...cells: readonly (string | number)[]): string =>
    cells.map((cell, at) => (at === 0 ? String(cell).padEnd(24) : String(cell).padStart(12))).join('');
  console.log(row('room', 'statements', 'allowed', 'lines', 'allowed', 'files'));
  for (const room of new Set([...Object.keys(budgets), ...found.keys()])) {
    const { statements, lines, files } = found.get(room) ?? { statements: 0, lines: 0, files: 0 };
    const allowed = allowedIn(room);
    console.log(row(room, statements, allowed, lines, '', files) + excess(statements, allowed));
  }
  const all = [...found.values()];
  const lines = total(all, 'lines');
  console.log(
    row('src', total(all, 'statements'), '', lines, limit, total(all, 'files')) + excess(lines, limit),
  );
}
