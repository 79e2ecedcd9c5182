/** The words of the command line. Nothing here does any work: each verb is loaded when it is called, so that `--help` costs nothing. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { Misconfigured } from '../core/errors.ts';
import type { Context } from './context.ts';
import { withoutValues } from './exit.ts';
import type { Sink } from './terminal.ts';

/** The options every verb understands. */
export interface Flags {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
  /** Commander's reading of `--no-color`. */
  readonly color: boolean;
}

/** Runs a loaded verb with everything it needs, and ends the command with its code. */
export type Run = (work: (context: Context) => Promise<number>, flags: Flags) => Promise<void>;

/** The program; `command` is what its verbs are run by. Throws CommanderError for anything it does not understand. */
export function program(version: string, out: Sink, err: Sink, command: Run): Command {
  const run = (work: (context: Context) => Promise<number>): Promise<void> =>
    command(work, root.opts<Flags>());
  const root = new Command('tidemark')
    .description(
      'Keeps a Postgres warehouse equal to an issue tracker, an advertising platform and a workflow engine, every night and on demand.',
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [verb]', 'show help for a verb')
    .option('--json', 'print JSON: one document, or one event a line for sync, backfill and reconcile')
    .option('-q, --quiet', 'say only what went wrong')
    .option('-v, --verbose', 'say more: causes of errors, a log of what is done')
    .option('--no-color', 'print without colours (also NO_COLOR; FORCE_COLOR turns them on)')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(text),
      outputError: (text, write) => write(withAdvice(withoutValues(text))),
    })
    .exitOverride();
  root.addHelpText('beforeAll', ({ command }) => examples(command.name()));
  root.addHelpText(
    'after',
    `\nSettings come from the environment and .env; see docs/operations.md.\nExit codes: 0 ok · 1 failed · 2 usage or settings · 3 partly failed · 4 cannot connect or sign in · 5 another run is going · 130/143 stopped`,
  );

  const verb = (words: string, about: string, hidden = false): Command =>
    root.command(words, { hidden }).description(about).allowExcessArguments(false);

  verb('sync [pipeline...]', 'bring the warehouse up to date with the source')
    .option(
      '--stream <name...>',
      'only these streams; their owners (boards, sprints, …) are taken as the warehouse knows them',
      list,
    )
    .option('--full', 'walk everything again, not only what changed')
    .option('--dry-run', 'only say what would be read')
    .action((pipelines: string[], options: { stream?: string[]; full?: boolean; dryRun?: boolean }) =>
      run(async (context) => (await import('./verbs/sync.ts')).sync(context, { ...options, pipelines })),
    );
  verb(
    'backfill <pipeline>',
    'read again what was created in a window [from, to); resumable by the same words',
  )
    .requiredOption('--from <date>', 'first day or instant, e.g. 2024-01-01 (UTC)')
    .requiredOption('--to <date>', 'end, not included, e.g. 2024-02-01 (UTC)')
    .option('--stream <name...>', 'only these streams', list)
    .option('--dry-run', 'only say what would be read')
    .action((pipeline: string, options: { from: string; to: string; stream?: string[]; dryRun?: boolean }) =>
      run(async (context) =>
        (await import('./verbs/backfill.ts')).backfill(context, { ...options, pipeline }),
      ),
    );
  verb(
    'reconcile <pipeline>',
    'walk all ids; mark what is deleted at the source, un-mark what is back, read what came into sight',
  )
    .option('--stream <name...>', 'only these streams', list)
    .action((pipeline: string, options: { stream?: string[] }) =>
      run(async (context) =>
        (await import('./verbs/reconcile.ts')).reconcile(context, { ...options, pipeline }),
      ),
    );
  verb('check', 'one authenticated request a source, a write and rollback on the warehouse').action(() =>
    run(async (context) => (await import('./verbs/check.ts')).check(context, {})),
  );
  verb('migrate', "bring the warehouse's schema up to date (sync does it by itself)")
    .option('--dry-run', 'only say what would be applied')
    .action((options: { dryRun?: boolean }) =>
      run(async (context) => (await import('./verbs/migrate.ts')).migrate(context, options)),
    );
  verb('status', 'how fresh every stream is').action(() =>
    run(async (context) => (await import('./verbs/status.ts')).status(context, {})),
  );
  verb('runs [id]', 'the last runs, or one of them with streams and receipts')
    .option('--limit <n>', 'how many', some, 20)
    .option('--pipeline <name>', 'only of this pipeline')
    .action((id: string | undefined, options: { limit: number; pipeline?: string }) =>
      run(async (context) => (await import('./verbs/runs.ts')).runs(context, { ...options, id })),
    );
  verb('streams [name]', 'the streams with their tables, or one of them with columns and receipts').action(
    (name: string | undefined) =>
      run(async (context) => (await import('./verbs/streams.ts')).streams(context, { name })),
  );
  const dead = verb('rejects', 'records that could not become rows').helpCommand(false);
  dead
    .command('list')
    .description('show them, with the reason and the beginning of the record')
    .allowExcessArguments(false)
    .option('--stream <name>', 'only of this stream')
    .option('--all', 'also those that were resolved')
    .option('--limit <n>', 'how many', some, 50)
    .action((options: { stream?: string; all?: boolean; limit: number }) =>
      run(async (context) => (await import('./verbs/rejects.ts')).listRejects(context, options)),
    );
  dead
    .command('replay [id]')
    .description('try them again, all or one, e.g. after an update of tidemark')
    .allowExcessArguments(false)
    .option('--stream <name>', 'only of this stream')
    .option('--pipeline <name>', 'of which pipeline, if several are configured')
    .action((id: string | undefined, options: { stream?: string; pipeline?: string }) =>
      run(async (context) => (await import('./verbs/replay.ts')).replayRejects(context, { ...options, id })),
    );
  verb(
    'reset <stream>',
    'forget the watermark and open walks of a stream; its rows stay, the next sync walks it whole',
  )
    .option('--pipeline <name>', 'of which pipeline, if several have a stream of that name')
    .action((stream: string, options: { pipeline?: string }) =>
      run(async (context) => (await import('./verbs/reset.ts')).reset(context, { ...options, stream })),
    );
  verb('why <table> <key>', 'where one row comes from').action((table: string, key: string) =>
    run(async (context) => (await import('./verbs/why.ts')).why(context, { table, key })),
  );
  verb('simulate', 'start simulated sources to try things on; runs until Ctrl-C')
    .option('--seed <n>', 'another seed is another company', whole, 7)
    .option('--issues <n>', 'how many issues it has', whole, 5000)
    .option('--port <n>', 'where to listen; 0 takes a free port', port, 0)
    .option('--latency <ms>', 'how much later each answer comes', whole, 0)
    .addOption(
      new Option('--dialect <name>', 'answer as the contract says, or as the vendor really does')
        .choices(['contract', 'vendor'])
        .default('contract'),
    )
    .action(
      (options: {
        seed: number;
        issues: number;
        port: number;
        dialect: 'contract' | 'vendor';
        latency: number;
      }) => run(async (context) => (await import('./verbs/simulate.ts')).simulate(context, options)),
    );
  verb('demo', 'see it work: a simulated company, a warehouse, a sync, and what came of it')
    .option('--seed <n>', 'another seed is another company', whole, 7)
    .option('--issues <n>', 'how many issues it has', whole, 5000)
    .option('--keep', 'stay until Ctrl-C, with the warehouse open to psql')
    .action((options: { seed: number; issues: number; keep?: boolean }) =>
      run(async (context) => (await import('./verbs/demo.ts')).demo(context, options)),
    );
  verb('warehouse', 'start the embedded warehouse for psql and BI tools; runs until Ctrl-C').action(() =>
    run(async (context) => (await import('./verbs/warehouse.ts')).warehouse(context, {})),
  );

  verb('start', 'what npm start does: sync everything configured, or the demo if nothing is', true).action(
    () => run(async (context) => (await import('./verbs/start.ts')).start(context, {})),
  );
  verb('serve', 'scheduler, control API and dashboard; runs until stopped')
    .option('--host <address>', 'where to listen (TIDEMARK_HOST; 127.0.0.1)')
    .option('--port <n>', 'on which port; 0 takes a free one (TIDEMARK_PORT; 8080)', port)
    .action((options: { host?: string; port?: number }) =>
      run(async (context) => (await import('./verbs/serve.ts')).serve(context, options)),
    );
  verb(
    'remote <action> <dag> [run]',
    'drive a tidemark serve elsewhere: start, status, stop, retry, runs or log',
  )
    .option(
      '--url <address>',
      'where it serves (default: TIDEMARK_HOST and TIDEMARK_PORT); the token is TIDEMARK_API_TOKEN',
    )
    .option('--params <pairs>', 'start: e.g. "FROM=2024-01-01 TO=2024-02-01 STREAMS=issues"')
    .option('--run-id <id>', 'start: the same id again gives the same run')
    .option('--limit <n>', 'runs and log: how many', some, 50)
    .action(
      (
        action: string,
        name: string,
        id: string | undefined,
        options: { url?: string; params?: string; runId?: string; limit: number },
      ) =>
        run(async (context) => {
          const { actions, remote } = await import('./verbs/remote.ts');
          const known = actions.find((each) => each === action);
          if (known === undefined)
            throw new Misconfigured(`remote: “${action}” is none of ${actions.join(', ')}`);
          return remote(context, { ...options, action: known, name, id });
        }),
    );
  return root;
}

/** What is said of an unknown flag, with what to do instead where it looks like a secret's. */
const withAdvice = (text: string): string =>
  /'--?[a-z-]*(token|password|secret|database-url)/i.test(text)
    ? `${text.trimEnd()}\nSecrets are never taken from flags: set them in the environment, in .env, or in a file named by NAME_FILE.\n`
    : text;

/** `--stream a,b --stream c` and `--stream a b` are the same. One that names none (an unset variable of a script) must not mean all. */
function list(value: string, before: readonly string[] = []): readonly string[] {
  const names = value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  if (names.length === 0) throw new InvalidArgumentError('Name a stream, or leave the flag out.');
  return [...before, ...names];
}

function whole(value: string): number {
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw new InvalidArgumentError('Write a whole number, e.g. 100.');
  return number;
}

function some(value: string): number {
  const number = whole(value);
  if (number === 0) throw new InvalidArgumentError('Write a whole number from 1 on.');
  return number;
}

function port(value: string): number {
  const number = whole(value);
  if (number > 65_535) throw new InvalidArgumentError('A port is at most 65535.');
  return number;
}

/** Shown above the usage: what people come to `--help` for. */
const shown: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  tidemark: [
    ['tidemark demo', 'see it work, with nothing set up'],
    ['tidemark check', 'are the settings right?'],
    ['tidemark sync', 'bring the warehouse up to date'],
    ['tidemark status', 'how fresh is everything?'],
  ],
  sync: [
    ['tidemark sync', 'everything that is configured'],
    ['tidemark sync tracker --stream issues', 'one stream'],
    ['tidemark sync tracker --full --dry-run', 'what would a complete walk read?'],
    ['tidemark sync --json | jq .', 'events, one a line'],
  ],
  backfill: [
    ['tidemark backfill tracker --from 2024-01-01 --to 2024-02-01', 'what was created in January 2024'],
  ],
  reconcile: [['tidemark reconcile tracker', 'find deletions']],
  check: [
    ['tidemark check', 'sources and warehouse'],
    ['tidemark check --json', 'for scripts'],
  ],
  migrate: [['tidemark migrate', 'apply what is missing']],
  status: [
    ['tidemark status', 'one sentence and a table'],
    ['tidemark status --json', 'for scripts'],
  ],
  runs: [
    ['tidemark runs', 'the last twenty'],
    ['tidemark runs 12', 'streams and receipts of run 12'],
  ],
  streams: [
    ['tidemark streams', 'all'],
    ['tidemark streams issues', 'columns, comments, receipts'],
  ],
  rejects: [
    ['tidemark rejects list', 'what was rejected, and why'],
    ['tidemark rejects replay', 'try all of them again'],
  ],
  list: [['tidemark rejects list --stream issues', 'of one stream']],
  replay: [
    ['tidemark rejects replay', 'all of them'],
    ['tidemark rejects replay 17', 'one of them'],
  ],
  reset: [['tidemark reset issues && tidemark sync', 'walk all issues again']],
  why: [
    ['tidemark why tracker.issues PROJ-7', 'by key, also a former one'],
    ['tidemark why tracker.sprints 12', 'by id'],
  ],
  simulate: [
    ['tidemark simulate', 'prints what to put into .env'],
    ['tidemark simulate --dialect vendor --issues 20000', ''],
  ],
  demo: [
    ['tidemark demo', ''],
    ['tidemark demo --verbose', 'with every table, receipt and question'],
    ['tidemark demo --keep', 'and leave the warehouse open'],
  ],
  warehouse: [['tidemark warehouse', 'prints the connection string']],
  serve: [
    ['tidemark serve', 'every night at 02:00 UTC, and whenever the API is asked'],
    ['TIDEMARK_API_TOKEN_FILE=token tidemark serve --host 0.0.0.0', 'for others, too'],
  ],
  remote: [
    ['tidemark remote start tracker --params "FROM=2024-01-01 TO=2024-02-01"', ''],
    ['tidemark remote status nightly --url https://sync.example.com', ''],
  ],
};

function examples(name: string): string {
  const lines = shown[name];
  if (lines === undefined) return '';
  const widest = Math.max(...lines.map(([command]) => command.length));
  return `Examples:\n${lines.map(([command, about]) => `  $ ${command.padEnd(widest)}  ${about}`.trimEnd()).join('\n')}\n`;
}
