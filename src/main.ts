/** The command `tidemark`: reads the environment, builds the parts once, passes them on, stops them in reverse order. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { type Context, openSink, questions, type StopSignal } from './cli/context.ts';
import { causes, complain, describe, exit, report } from './cli/exit.ts';
import { type Flags, program } from './cli/program.ts';
import type { Connector } from './connectors/connector.ts';
import { Interrupted } from './core/errors.ts';
import { assemble, ownVersion } from './runs/assemble.ts';

type Sinks = Pick<Context, 'out' | 'err'>;

/** Runs the command line of the process; sets its exit code. */
export async function main(host: NodeJS.Process = process): Promise<void> {
  const args = host.argv.slice(2);
  const options = { env: host.env, noColor: args.includes('--no-color') };
  const sinks = { out: openSink(host.stdout, options), err: openSink(host.stderr, options) };
  const printing = { ...sinks, json: args.includes('--json') };
  // Errors outside a verb, such as a full disk under standard output.
  const defect = (error: unknown): void => {
    report(error, printing);
    host.exit(exit.failed);
  };
  host.on('uncaughtException', defect);
  // Holds if the process runs out of work before its command has ended.
  host.exitCode = exit.failed;
  try {
    await program(ownVersion(), sinks.out, sinks.err, async (verb, options, flags) => {
      host.off('uncaughtException', defect);
      host.exitCode = await command(host, (context) => verb(context, options), flags, sinks);
    }).parseAsync(args, { from: 'user' });
  } catch (error) {
    host.exitCode = report(error, printing);
  }
  await Promise.all([sinks.out.flush(), sinks.err.flush()]);
}

/** Runs one verb from the first part to the last; returns the exit code. */
async function command(
  host: NodeJS.Process,
  work: (context: Context) => Promise<number>,
  flags: Flags,
  sinks: Sinks,
): Promise<number> {
  const { json = false, quiet = false, verbose = false } = flags;
  const { err } = sinks;
  const printing = { ...sinks, json, verbose };
  const talk = (text: string) => (quiet ? undefined : err.line(text));
  const warn = (text: string, error?: unknown) => {
    err.line(`${err.paint('yellow', 'warning')}: ${text}`);
    if (verbose) for (const line of causes(error)) err.line(`  ${line}`);
  };
  const first = (stop: StopSignal) => talk(`${stop}: ending in good order; once more ends at once`);
  const end = (code: number) => {
    stopLater(homes);
    host.exit(code);
  };
  const { signal, received, release } = listen(host, first, (code, why) => {
    warn(`${why}; ending now`);
    end(code);
  });
  const defect = (error: unknown): void => {
    report(error, printing);
    end(exit.failed);
  };
  host.on('uncaughtException', defect).on('unhandledRejection', defect);
  const say = (text: string) => (json ? undefined : talk(text));
  const load = async () => {
    const { loadConfig } = await import('./config/config.ts');
    return loadConfig<Connector>(host.env, host.cwd());
  };
  const { parts, close, homes } = assemble(load, signal, { talk, say, notice: err.line });
  const output = {
    ...printing,
    quiet,
    say,
    warn,
    ...(host.stdin.isTTY && !json && { ask: questions(host.stdin, err, signal) }),
  };
  let code: number;
  try {
    code = await work({ ...output, parts, signal, received, version: ownVersion(), host });
  } catch (error) {
    code = report(error, printing, received());
  }
  try {
    await close();
  } catch (error) {
    if (code === exit.ok) code = report(error, printing, received());
    else complain(printing, error, describe(error), 'while ending');
  }
  release();
  return code;
}

/** How long a command may take to end in good order (guarantee G9). */
const graceMs = 20_000;

/** npm repeats a Ctrl-C that the terminal has already sent to every process: within this time it is the same request. */
const echoMs = 500;

/**
 * Listens until `release`. `signal` is aborted with `Interrupted` by the first one, which `received` returns.
 * `onFirst` is called at the first; `force` ends the process now.
 */
function listen(
  host: NodeJS.Process,
  onFirst: (stop: StopSignal) => void,
  force: (code: number, why: string) => void,
) {
  const controller = new AbortController();
  let first: { readonly stop: StopSignal; readonly at: number } | undefined;
  let timer: NodeJS.Timeout | undefined;
  const on = (stop: StopSignal) => {
    if (first === undefined) {
      first = { stop, at: performance.now() };
      const late = () => force(exit[stop], `not finished ${graceMs / 1000} s after ${stop}`);
      timer = setTimeout(late, graceMs).unref();
      onFirst(stop);
      controller.abort(new Interrupted(`stopped by ${stop}`));
    } else if (performance.now() - first.at > echoMs) force(exit[stop], `second ${stop}`);
  };
  host.on('SIGINT', on).on('SIGTERM', on);
  return {
    signal: controller.signal,
    received: () => first?.stop,
    release: () => {
      clearTimeout(timer);
      host.off('SIGINT', on).off('SIGTERM', on);
    },
  };
}

/** After a forced end, another process stops the embedded servers that only this one used. */
function stopLater(homes: ReadonlySet<string>): void {
  if (homes.size === 0) return;
  // JavaScript in the package, TypeScript in the repository.
  const script = path.join(import.meta.dirname, `cli/stop-embedded${path.extname(import.meta.filename)}`);
  const options = { detached: true, stdio: 'ignore' } as const;
  spawn(process.execPath, [script, String(process.pid), ...homes], options).unref();
}
