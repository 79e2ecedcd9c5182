import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { allowedIn, limit, sizes, statements, total } from '../bench/size.ts';
import { nodesOf, syntaxOf } from '../bench/syntax.ts';

const root = path.resolve(import.meta.dirname, '..');

/** Which rooms a room may import from: the arrows of docs/architecture.md. A room may always import from itself. */
const arrows: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries({
    'src/core': '',
    'src/config': 'src/core',
    'src/http': 'src/core',
    'src/reading': 'src/core src/http',
    'src/connectors': 'src/core src/config src/http src/reading',
    'src/engine': 'src/core src/reading src/load src/queries src/warehouse',
    'src/load': 'src/core src/warehouse',
    'src/queries': 'src/core src/warehouse',
    'src/bi': 'src/core src/warehouse',
    'src/planner': 'src/core src/config src/queries src/warehouse',
    'src/warehouse': 'src/core',
    'src/embedded': 'src/core src/warehouse',
    'src/runs':
      'src/core src/bi src/config src/connectors src/embedded src/engine src/outbound src/planner src/queries src/warehouse',
    'src/scheduler': 'src/core src/engine src/outbound src/queries src/runs src/warehouse',
    'src/outbound': 'src/core src/http src/warehouse',
    'src/server/api': 'src/core src/config src/queries src/scheduler src/warehouse',
    'src/server/dashboard': 'src/core src/planner src/queries src/scheduler src/server/api src/warehouse',
    'src/cli':
      'src/core src/bi src/config src/connectors src/embedded src/engine src/outbound src/planner src/queries src/runs src/scheduler ' +
      'src/server/api src/server/dashboard src/warehouse simulators',
    'simulators/testing':
      'src/core src/config src/http src/reading src/connectors src/load src/engine src/warehouse src/embedded src/runs',
    simulators: 'src/core',
    pipelines: '',
  }).map(([room, allowed]) => [room, allowed.split(' ')]),
);

const files = ['src', 'simulators', 'pipelines'].flatMap((folder) =>
  fs
    .readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[jt]s$/.test(name))
    .map((name) => path.join(folder, name)),
);

const textOf = (file: string): string => fs.readFileSync(path.join(root, file), 'utf8');

/** Relative imports of a file, as paths below the root; dynamic ones too. */
const importsOf = (file: string): readonly string[] =>
  [...textOf(file).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) =>
    path.normalize(path.join(path.dirname(file), match[1] ?? '')),
  );

const roomOf = (file: string): string | undefined =>
  Object.keys(arrows).find((room) => file === `${room}.ts` || file.startsWith(`${room}/`));

test('imports flow one way through the rooms', () => {
  const wrong = files.flatMap((file) => {
    const room = roomOf(file);
    if (room === undefined) return [];
    return importsOf(file).flatMap((target) => {
      const to = roomOf(target);
      const allowed = to === room || (to !== undefined && arrows[room]?.includes(to));
      return allowed ? [] : [`${file} imports ${target}`];
    });
  });
  expect(wrong).toEqual([]);
});

test('only the entrance imports the command line', () => {
  const inCli = (file: string): boolean => file.startsWith('src/cli/');
  expect(files.filter((file) => !inCli(file) && importsOf(file).some(inCli))).toEqual(['src/main.ts']);
});

test('directories are made by makeDirectory: the recursive mkdir of Node never ends in /proc', () => {
  expect(files.filter((file) => /mkdir(Sync)?\([^;]*recursive/.test(textOf(file)))).toEqual([]);
});

/** The rooms of the engine, each above those it may import from; '' is what lies beside them, `verify.ts` below all. */
const engine = ['state', 'context', 'batching', 'sync', '', 'reconcile'];

test('imports flow one way through the rooms of the engine', () => {
  const floorOf = (file: string): number =>
    file === 'src/engine/verify.ts' ? 0 : engine.indexOf(/^src\/engine\/([^/]+)\//.exec(file)?.[1] ?? '');
  const ofEngine = files.filter((file) => file.startsWith('src/engine/'));
  expect(ofEngine.filter((file) => floorOf(file) < 0)).toEqual([]);
  const wrong = ofEngine.flatMap((file) =>
    importsOf(file)
      .filter((target) => target.startsWith('src/engine/') && floorOf(target) > floorOf(file))
      .map((target) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test('every file lies in a room of the drawing', () => {
  expect(files.filter((file) => roomOf(file) === undefined).sort()).toEqual([
    'src/index.ts',
    'src/main.ts',
    'src/run.ts',
    'src/tidemark.js',
    'src/toolkit.ts',
  ]);
});

test('no file imports itself through others', () => {
  // A dynamic import runs later: it loads nothing while modules are being set up.
  const eager = (file: string) =>
    [...textOf(file).matchAll(/^(?:import|export)\s[^;]*?from\s+'(\.[^']+)'/gms)].map(([, to = '']) =>
      path.normalize(path.join(path.dirname(file), to)),
    );
  const open = new Map(files.map((file) => [file, eager(file)]));
  // A file that imports no open file is in no circle.
  for (let before = -1; before !== open.size; ) {
    before = open.size;
    for (const [file, to] of open) if (!to.some((one) => open.has(one))) open.delete(file);
  }
  expect([...open.keys()]).toEqual([]);
});

test('the engine knows no source', () => {
  const names = /tracker|jira|spotify|dagu|\bissues\b|campaign/i;
  const inCode = (file: string): string => textOf(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  const knowing = files.filter((file) => /^src\/(load|engine)\//.test(file) && names.test(inCode(file)));
  expect(knowing).toEqual([]);
});

test('a name of a type is declared once in src', () => {
  const declared = new Map<string, string[]>();
  for (const file of files.filter((name) => name.startsWith('src/'))) {
    const text = textOf(file);
    for (const { node } of nodesOf(syntaxOf(file, text))) {
      if (!/^TS(TypeAlias|Interface|Enum)Declaration$|^ClassDeclaration$/.test(node.type)) continue;
      if (!('id' in node) || node.id?.type !== 'Identifier') continue;
      const place = `${file}:${text.slice(0, node.start).split('\n').length}`;
      declared.set(node.id.name, [...(declared.get(node.id.name) ?? []), place]);
    }
  }
  expect([...declared].filter(([, places]) => places.length > 1)).toEqual([]);
});

test('the shipped connectors are made of what the package exports', () => {
  const shown = new Set(['src/index.ts', 'src/toolkit.ts'].flatMap(importsOf));
  const own = /^src\/connectors\//;
  const used = files.filter((file) => own.test(file)).flatMap(importsOf);
  expect([...new Set(used)].filter((file) => !own.test(file) && !shown.has(file)).sort()).toEqual([]);
});

test('a room has no more statements than its budget allows, all of `src` no more lines', () => {
  const found = sizes();
  const tooLarge = [...found].filter(([room, size]) => size.statements > allowedIn(room));
  expect(tooLarge.map(([room, size]) => `${room}: ${size.statements} of ${allowedIn(room)}`)).toEqual([]);
  expect(total(found.values(), 'lines')).toBeLessThanOrEqual(limit);
});

test.each([
  ['a statement', 'a();', 1],
  ['each name that is declared', 'const a = 1, b = 2;', 2],
  ['an import, and an export of others', "import a from 'a'; export { b } from 'b'; export * from 'c';", 3],
  ['a function with its statements', 'export function a() { if (b) { return c; } else d(); }', 4],
  ['an arrow function as the function that it shortens', 'const a = () => b;', 2],
  ['a loop with its body, not its head', 'for (let i = 0; i < 1; i += 1) a(i);', 2],
  ['a class with its members', 'class A { b = 1; #c() { return 2; } }', 4],
  ['an interface with its members', 'interface A { b: 1; c(): void }', 3],
  ['a literal type as one', 'type A = { b: 1; c(): void };', 1],
  ['a literal however many members it has', 'const a = { b: 1, c: [2, 3], ...d };', 1],
  ['a call however many arguments it has', 'a(b, c, { d });', 1],
  ['no blocks, labels, comments and empty statements', '/* a(); */ b: { ; } // c();', 0],
])('what is counted: %s', (_what, text, count) => {
  expect(statements('text.ts', text)).toBe(count);
});

test('only the entrance, the embedded server and the connection read the environment', () => {
  const readers = files.filter((file) => /process\.env/.test(textOf(file)));
  const allowed = /^src\/(main\.ts|run\.ts|tidemark\.js|cli\/|embedded\/|warehouse\/)/;
  expect(readers.filter((file) => !allowed.test(file))).toEqual([]);
});

test('the lint shows where a literal is spread into another, and where several names are declared from one', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-lint-'));
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
  const plugins = ['spread-literal', 'packed-declaration'].map((name) => path.join(root, `.ci/${name}.grit`));
  const texts = {
    'biome.json': JSON.stringify({ plugins }),
    'object.ts': 'export const a = 1;\nexport const b = { ...{ a }, c: 2 };\n',
    'array.ts': 'export const a = [...[1, 2], 3];\n',
    'plain.ts': 'export const a = (b: object) => ({ ...b, ...(b ? { c: 1 } : {}), ...Object({ d: 2 }) });\n',
    'names.ts': 'export const [a, b] = [1, 2];\n',
    'first.ts': 'export const [a] = [...new Set([1])];\nexport const [b, c] = Object.keys({});\n',
  };
  for (const [name, text] of Object.entries(texts)) fs.writeFileSync(path.join(folder, name), text);
  const biome = path.join(root, 'node_modules/.bin/biome');
  const lint = spawnSync(biome, ['lint', '--reporter=github', '.'], { cwd: folder, encoding: 'utf8' });
  const places = [...lint.stdout.matchAll(/title=plugin,file=([^,]*),line=(\d+)/g)];
  const shown = places.map(([, file = '', line]) => `${path.basename(file)}:${line}`);
  expect(shown.sort()).toEqual(['array.ts:1', 'names.ts:1', 'object.ts:2']);
});
