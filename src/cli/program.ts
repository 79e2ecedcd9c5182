/** The command line, built from the text of src/cli/verbs.ts. A verb is loaded when it is called, so that `--help` stays fast. */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { Verb } from './context.ts';
import { withoutValues } from './exit.ts';
import type { Sink } from './terminal.ts';
import { loaders, usage } from './verbs.ts';

/** The options that every verb takes. */
export interface Flags {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** Runs a loaded verb with its arguments and options. */
export type Run = (verb: Verb<never>, options: never, flags: Flags) => Promise<void>;

const firstSteps = `tidemark demo · see it work, with nothing set up
tidemark check · are the settings right?
tidemark sync · bring the warehouse up to date
tidemark status · how fresh is everything?`;

const after = `
Settings come from the environment and .env; see docs/operations.md.
Exit codes: 0 ok · 1 failed · 2 usage or configuration · 3 partly failed · 4 cannot connect or sign in · 5 another run is going · 130/143 stopped`;

/** Throws CommanderError for what it does not understand. */
export function program(version: string, out: Sink, err: Sink, run: Run): Command {
  const examples = new Map<Command, readonly string[]>();
  const root = new Command('tidemark')
    .description('Keeps a Postgres warehouse equal to Jira, Spotify Ads and Dagu, every night and on demand.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [verb]', 'show help for a verb')
    .option('--json', 'print JSON: one document, or one event a line for what runs')
    .option('-q, --quiet', 'print only what went wrong')
    .option('-v, --verbose', 'print more: causes of errors, a log')
    .option('--no-color', 'print without colours (also NO_COLOR; FORCE_COLOR turns them on)')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(text),
      outputError: (text, write) => write(withAdvice(withoutValues(text))),
    })
    .exitOverride()
    .addHelpText('after', after)
    .addHelpText('beforeAll', ({ command }) => examplesText(examples.get(command) ?? []));
  examples.set(root, firstSteps.split('\n'));
  for (const verb of usage.trim().split(/\n(?! )/)) {
    const [head = '', ...lines] = verb.split('\n').map((line) => line.trim());
    const [call = '', about = ''] = head.split(' · ');
    const [, name = '', args = ''] = /^([a-z ]*[a-z])( .*)?$/.exec(call) ?? [];
    const command = add(root, name, args).description(about).allowExcessArguments(false);
    for (const line of lines.filter((line) => line.startsWith('--'))) command.addOption(optionOf(line));
    const shown = lines.filter((line) => line.startsWith('$')).map((line) => line.slice(2));
    for (const each of [command, command.parent])
      if (each !== null && each !== root) examples.set(each, [...(examples.get(each) ?? []), ...shown]);
    command.action(async () => {
      const load: () => Promise<Verb<never>> = loaders[name as keyof typeof loaders];
      const given = command.registeredArguments.map((each, at) => [each.name(), command.processedArgs[at]]);
      const options = { ...command.opts(), ...Object.fromEntries(given) };
      await run(await load(), options as never, root.opts<Flags>());
    });
  }
  return root;
}

/** A verb of two words becomes a command of its group. */
function add(root: Command, name: string, args: string): Command {
  const [group = '', verb] = name.split(' ');
  if (verb === undefined) return root.command(group + args, { hidden: group === 'start' });
  const parent =
    root.commands.find((each) => each.name() === group) ??
    root.command(group).description('records that could not become rows').helpCommand(false);
  return parent.command(verb + args);
}

/** An option from its line, e.g. `--limit <+n=20> · how many`. */
function optionOf(line: string): Option {
  const [, flag = '', kind = '', about = '', required] =
    /^(--[a-z-]+)(?: <(.*)>)? · (.*?)(!)?$/.exec(line) ?? [];
  const [, positive, fallback] = /^(\+)?n(?:=(\d+))?$/.exec(kind) ?? [];
  const isNumber = /^\+?n(=\d+)?$/.test(kind);
  const shown = isNumber ? 'n' : kind.includes('|') ? 'name' : kind;
  const option = new Option(kind === '' ? flag : `${flag} <${shown}>`, about).makeOptionMandatory(
    required === '!',
  );
  if (isNumber)
    option.argParser(numberFrom(positive === '+' ? 1 : 0, flag === '--port' ? 65_535 : 999_999_999));
  if (kind.endsWith('...')) option.argParser(listFrom);
  if (kind.includes('|')) option.choices(kind.split('|')).default(kind.split('|')[0]);
  return fallback === undefined ? option : option.default(Number(fallback));
}

const numberFrom = (least: number, most: number) => (value: string) => {
  const number = /^\d{1,9}$/.test(value) ? Number(value) : -1;
  if (number >= least && number <= most) return number;
  throw new InvalidArgumentError(`Write a whole number from ${least} to ${most}.`);
};

/** `--stream a,b --stream c` and `--stream a b` are the same. A list that is empty (an unset variable) must not mean all. */
function listFrom(value: string, before: readonly string[] = []): readonly string[] {
  const names = value.split(',').map((name) => name.trim());
  if (!names.some(Boolean)) throw new InvalidArgumentError('Name a stream, or leave the flag out.');
  return [...before, ...names.filter(Boolean)];
}

/** An unknown flag that looks like a secret gets advice. */
const withAdvice = (text: string): string =>
  /'--?[a-z-]*(token|password|secret|database-url)/i.test(text)
    ? `${text.trimEnd()}\nSecrets are never taken from flags: set them in the environment, in .env, or in a file named by NAME_FILE.\n`
    : text;

function examplesText(lines: readonly string[]): string {
  const pairs = lines.map((line) => line.split(' · '));
  const widest = Math.max(0, ...pairs.map(([command = '']) => command.length));
  const shown = pairs.map(([command = '', about]) => `  $ ${command.padEnd(widest)}  ${about}`);
  return lines.length === 0 ? '' : `Examples:\n${shown.join('\n')}\n`;
}
