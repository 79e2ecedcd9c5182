/** The command line: commander, filled from the verbs. */
import { Command, type Option } from 'commander';
import type { Verb } from './context.ts';
import { withoutValues } from './exit.ts';
import type { Sink } from './terminal.ts';
import { flags, type VerbSpec, verbs } from './verbs.ts';

/** The options that every verb takes. */
export interface Flags {
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** Runs a loaded verb with its arguments and options. */
export type Run = (verb: Verb<never>, options: never, flags: Flags) => Promise<void>;

const firstSteps = `tidemark demo  # see it work, with nothing set up
  $ tidemark check  # are the settings right?
  $ tidemark sync  # bring the warehouse up to date
  $ tidemark status  # how fresh is everything?`;

const after = `
Settings come from the environment and .env; see docs/operations.md.
Exit codes: 0 ok · 1 failed · 2 usage or configuration · 3 partly failed · 4 cannot connect or sign in · 5 another run is going · 130/143 stopped`;

/** Throws CommanderError for what it does not understand. */
export function program(version: string, out: Sink, err: Sink, run: Run): Command {
  const root = new Command('tidemark')
    .description('Keeps a Postgres warehouse equal to Jira, Spotify Ads and Dagu, every night and on demand.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [verb]', 'show help for a verb')
    .option('--json', 'print JSON: one document, or one event a line for what runs')
    .option('-q, --quiet', 'print only what went wrong')
    .option('-v, --verbose', 'print more: causes of errors, a log')
    .option('--no-color', 'print without colours (also NO_COLOR; FORCE_COLOR turns them on)')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => out.write(text),
      writeErr: (text) => err.write(text),
      outputError: (text, write) => write(withoutValues(text)),
    })
    .exitOverride()
    .addHelpText('before', exampleText(firstSteps))
    .addHelpText('after', after);
  for (const spec of verbs) {
    const command = commandOf(root, spec).description(spec.about);
    command.addHelpText('before', exampleText(spec.example));
    for (const name of spec.flags.split(' ').filter(Boolean)) command.addOption(flags[name] as Option);
    command.action(async () => {
      const args = command.registeredArguments.map((each, at) => [each.name(), command.processedArgs[at]]);
      const options = { ...command.opts(), ...Object.fromEntries(args) };
      await run(await spec.load(), options as never, root.opts<Flags>());
    });
  }
  return root;
}

/** A verb of two words becomes a command of its group. */
function commandOf(root: Command, { call, example }: VerbSpec): Command {
  const [name = '', verb] = call.split(/ (?=[a-z])/);
  if (verb === undefined) return root.command(call, { hidden: call === 'start' });
  const made = root.commands.find((each) => each.name() === name);
  const group =
    made ?? root.command(name).description('records that could not become rows').helpCommand(false);
  if (made === undefined) group.addHelpText('before', exampleText(example));
  return group.command(verb);
}

const exampleText = (text: string): string => `Examples:\n  $ ${text}\n`;
