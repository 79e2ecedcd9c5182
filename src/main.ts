/** The command `tidemark`: reads the environment, builds the parts once, hands them down, stops them in reverse order. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { CommanderError } from 'commander';
import type { Context, Parts, Settings } from './cli/context.ts';
import { causes, codeOfError, exit, said } from './cli/exit.ts';
import { type Flags, program } from './cli/program.ts';
import { type Stop, stopping } from './cli/signals.ts';
import { type Sink, sinkOn } from './cli/terminal.ts';
import type { Told } from './cli/waiting.ts';
import type { Source } from './core/stream.ts';
import { connectionsFor } from './engine/context/concurrency.ts';

/** How long a command may take to end in good order (guarantee G9). */
const graceMs = 20_000;

async function main(): Promise<void> {
  const { env } = process;
  const words = process.argv.slice(2);
  const wishes = { env, noColor: words.includes('--no-color') };
  const out = sinkOn(process.stdout, wishes);
  const err = sinkOn(process.stderr, wishes);
  const version = ownVersion();
  // What breaks outside a command: a full disk behind standard output. A command has listeners of its own.
  const defect = (error: unknown): void => {
    tell(error, { out, err }, { json: words.includes('--json') });
    process.exit(exit.failed);
  };
  process.on('uncaughtException', defect);
  const run = (work: (context: Context) => Promise<number>, flags: Flags) => {
    process.off('uncaughtException', defect);
    return command(work, flags, { out, err, version });
  };
  try {
    await program(version, out, err, run).parseAsync(words, { from: 'user' });
  } catch (error) {
    tell(error, { out, err }, { json: words.includes('--json') });
  }
  await Promise.all([out.flush(), err.flush()]);
}

/** Runs one verb from the first part to the last, and sets the exit code. */
async function command(
  work: (context: Context) => Promise<number>,
  flags: Flags,
  { out, err, version }: { readonly out: Sink; readonly err: Sink; readonly version: string },
): Promise<void> {
  const { env } = process;
  const { json = false, quiet = false, verbose = false } = flags;
  const stops = stopping({
    process,
    graceMs,
    asked: (stop) => {
      if (!quiet) err.line(`${stop}: ending in good order; once more ends at once`);
    },
    force: (code, why) => {
      err.line(`tidemark: ${why}; ending now`);
      tidy(built.homes());
      process.exit(code);
    },
  });
  const defect = (error: unknown): void => {
    tell(error, { out, err }, flags);
    tidy(built.homes());
    process.exit(exit.failed);
  };
  process.on('uncaughtException', defect).on('unhandledRejection', defect);
  const built = assemble(env, stops.signal, (text) => err.line(text), { quiet, json });
  try {
    const logLevel = await wishedLog(env, verbose);
    process.exitCode = await work({
      parts: built.parts,
      out,
      err,
      json,
      quiet,
      verbose,
      logging: logLevel !== undefined,
      logLevel,
      signal: stops.signal,
      received: stops.received,
      version,
    });
  } catch (error) {
    tell(error, { out, err }, flags, stops.received());
  }
  try {
    await built.close();
  } catch (error) {
    if (process.exitCode === exit.ok) tell(error, { out, err }, flags, stops.received());
    else err.line(`tidemark: while ending: ${said(error).message}`);
  }
  stops.release();
}

/** Says what went wrong and sets the exit code. Commander has already told of its own errors. */
function tell(
  error: unknown,
  { out, err }: { readonly out: Sink; readonly err: Sink },
  flags: Partial<Flags>,
  stop?: Stop,
): void {
  process.exitCode = codeOfError(error, stop);
  const words = said(error);
  if (!(error instanceof CommanderError)) err.line(`${err.paint('red', 'tidemark')}: ${words.message}`);
  if (flags.verbose) for (const line of causes(error)) err.line(`  ${line}`);
  if (flags.json && process.exitCode !== exit.ok)
    out.line(JSON.stringify({ type: 'error', error: words, exitCode: process.exitCode }));
}

interface Built {
  readonly parts: Parts;
  /** Stops what was made, in reverse order; throws the first error after trying all. */
  readonly close: () => Promise<void>;
  /** Homes of the embedded warehouses in use. */
  readonly homes: () => readonly string[];
}

/** The parts, each made at its first use. */
function assemble(
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  say: (text: string) => void,
  { quiet, json }: { readonly quiet: boolean; readonly json: boolean },
): Built {
  const stops: (() => Promise<unknown>)[] = [];
  const homes = new Set<string>();
  const keep = <T>(part: T, stop: (part: T) => Promise<unknown>): T => {
    stops.push(() => stop(part));
    return part;
  };
  const config = once(async () => {
    const { readConfig } = await import('./config/config.ts');
    const { connectors } = await import('./connectors/index.ts');
    const read = readConfig(env, process.cwd(), connectors);
    if (!quiet) for (const warning of read.warnings) say(`warning: ${warning}`);
    return read;
  });
  const embeddedIn = async (home: string) => {
    const { openEmbedded } = await import('./embedded/embedded.ts');
    homes.add(home);
    return keep(await openEmbedded(home, { notice: say, signal }), (part) => part.release());
  };
  const embedded = once(async () => {
    const { databaseUrl, home } = await config();
    if (databaseUrl !== undefined) return undefined;
    const isNew = !existsSync(path.join(home, 'postgres'));
    const opened = await embeddedIn(home);
    if (isNew && !quiet && !json) say(`made a new warehouse in ${home}`);
    return opened;
  });
  const connected = async (url: string, max: number, patience?: number) => {
    const { connect } = await import('./warehouse/connect.ts');
    const options = { max, signal, ...(patience === undefined ? {} : { patience }) };
    return keep(await connect(url, options), (part) => part.close());
  };
  const warehouse = once(async (patience?: number) => {
    const { databaseUrl, sources } = await config();
    const url = databaseUrl?.reveal() ?? (await embedded())?.own;
    if (url === undefined) throw new Error('neither DATABASE_URL nor an embedded warehouse');
    return connected(
      url,
      connectionsFor(Math.max(4, ...Object.values(sources).map((each) => each?.concurrency ?? 4))),
      patience,
    );
  });
  const open = async (pipeline: string, from: Settings, told?: Told): Promise<Source> => {
    const { openSource } = await import('./cli/opening.ts');
    return openSource(pipeline, from, ownVersion(), told);
  };
  const source = async (pipeline: string, told?: Told, other?: Settings) =>
    keep(await open(pipeline, other ?? (await config()), told), (part) => part.close());
  const close = async (): Promise<void> => {
    const failures: unknown[] = [];
    for (const stop of stops.reverse()) await stop().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  return {
    parts: { config, embedded, embeddedIn, connected, warehouse, source, keep },
    close,
    homes: () => [...homes],
  };
}

const once = <A extends readonly unknown[], T>(
  make: (...asked: A) => Promise<T>,
): ((...asked: A) => Promise<T>) => {
  let made: Promise<T> | undefined;
  return (...asked) => {
    made ??= make(...asked);
    return made;
  };
};

/** The log is on where LOG_LEVEL (of the environment or `.env`) or `--verbose` asks for it. A wrong level is told by the configuration. */
async function wishedLog(env: NodeJS.ProcessEnv, verbose: boolean): Promise<string | undefined> {
  const { Variables } = await import('./config/variables.ts');
  const level = new Variables(env, process.cwd()).text('LOG_LEVEL')?.toLowerCase();
  return level === 'silent' ? undefined : (level ?? (verbose ? 'debug' : undefined));
}

const ownVersion = (): string => {
  const { version }: { readonly version: string } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  );
  return version;
};

/** After a forced end nobody is left to stop an embedded server that only this process used: a process of its own does it. */
function tidy(homes: readonly string[]): void {
  if (homes.length === 0) return;
  const script = fileURLToPath(new URL('./cli/stop-embedded.ts', import.meta.url));
  spawn(process.execPath, [script, String(process.pid), ...homes], {
    detached: true,
    stdio: 'ignore',
  }).unref();
}

// Last, so that everything above is there.
await main();
