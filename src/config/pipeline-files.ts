/** Finds and loads pipeline files: those of the user, else those that come with Tidemark. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { registerHooks } from 'node:module';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Misconfigured, saidBy } from '../core/errors.ts';
import type { Configurable, PipelineDefinition } from './pipeline.ts';
import type { Variables } from './variables.ts';

/** What a file exports, and how it is named to the user: relative to the working directory where it lies below. */
export interface PipelineFile<C extends Configurable = Configurable> {
  readonly file: string;
  readonly definition: PipelineDefinition<C>;
}

type Files<C extends Configurable> = Promise<readonly PipelineFile<C>[]>;

const shipped = fileURLToPath(new URL('../../pipelines/', import.meta.url));

/** The pipelines that come with Tidemark; they read the environment. */
export const shippedPipelines = <C extends Configurable>(): Files<C> =>
  loadFolder(shipped, (file) => `pipelines/${path.basename(file)}`);

/** Where the user's pipeline files are. It need not exist. */
export const folderOf = (from: Variables): string =>
  path.resolve(from.cwd, from.text('TIDEMARK_PIPELINES') ?? 'pipelines');

/**
 * The files of the folder TIDEMARK_PIPELINES, else of `pipelines` in the working directory, else those shipped. In the order of their names;
 * files that begin with a dot or an underscore are left out. Throws Misconfigured for a file that cannot be loaded, or declares nothing.
 */
export async function pipelineFiles<C extends Configurable>(from: Variables): Files<C> {
  const folder = folderOf(from);
  const shown = (file: string) => {
    const below = path.relative(from.cwd, file);
    return below.startsWith('..') ? file : below;
  };
  if (filesIn(folder).length > 0) return loadFolder(folder, shown);
  if (from.text('TIDEMARK_PIPELINES') === undefined) return shippedPipelines();
  throw new Misconfigured(`TIDEMARK_PIPELINES: there are no files *.ts, *.js or *.mjs in ${folder}`);
}

const filesIn = (folder: string): readonly string[] =>
  (fs.existsSync(folder) ? fs.readdirSync(folder) : [])
    .filter((name) => /^[^._].*\.(ts|js|mjs)$/.test(name) && !name.endsWith('.d.ts'))
    .sort()
    .map((name) => path.join(folder, name));

async function loadFolder<C extends Configurable>(folder: string, shown: (file: string) => string): Files<C> {
  const hooks = prepareImports(folder);
  const loaded = filesIn(folder).map(async (file) => {
    const { default: definition } = await import(pathToFileURL(file).href).catch((cause: unknown) => {
      throw new Misconfigured(`${shown(file)} cannot be loaded: ${saidBy(cause)}${placeOf(file, cause)}`, {
        cause,
      });
    });
    if (definition?.is === 'pipeline' || definition?.is === 'nightly')
      return { file: shown(file), definition };
    const fix = "write export default pipeline({ … }), or let the file's name begin with _";
    throw new Misconfigured(`${shown(file)} declares no pipeline: ${fix}`);
  });
  // Hooks slow down every import that follows. A file of the user may import more when it runs; ours do not.
  return Promise.all(loaded).finally(() => folder === shipped && hooks?.deregister());
}

/** Where the text cannot be parsed, if that is why it cannot be loaded: Node says it of TypeScript in the error, of JavaScript only where it checks a file. */
function placeOf(file: string, cause: unknown): string {
  const stack = cause instanceof Error ? cause.stack : '';
  const { stderr } = spawnSync(process.execPath, ['--check', file], { encoding: 'utf8' });
  const [, place] = /^(?:file:\/\/)?(\S.*:\d+)\r?$/m.exec(`${stack}\n${stderr}`) ?? [];
  return place === undefined ? '' : ` (${place})`;
}

const prepared = new Set<string>();

/**
 * A pipeline file may import 'tidemark' wherever it lies: it gets this very program, also where no package of that name is installed. And it
 * is a module, as is the TypeScript that it imports, whatever the package.json beside it says of its type. Undefined for a folder that was
 * prepared before.
 */
function prepareImports(folder: string) {
  if (prepared.has(folder)) return undefined;
  prepared.add(folder);
  const below = pathToFileURL(folder).href;
  const end = path.extname(import.meta.filename);
  const entrances = new Map([
    ['tidemark', new URL(`../index${end}`, import.meta.url).href],
    ['tidemark/toolkit', new URL(`../toolkit${end}`, import.meta.url).href],
  ]);
  return registerHooks({
    resolve(specifier, context, next) {
      const url = entrances.get(specifier);
      if (url !== undefined) return { url, shortCircuit: true };
      const found = next(specifier, context);
      const isOwn = found.url.endsWith('.ts') && !found.url.includes('/node_modules/');
      if (!isOwn && !found.url.startsWith(below)) return found;
      return { ...found, format: found.url.endsWith('.ts') ? 'module-typescript' : 'module' };
    },
  });
}
