/** `tidemark init`: writes `.env` and the pipeline file of a source, from flags or answers, and tests the connection. */
import fs from 'node:fs';
import path from 'node:path';
import { readConfig } from '../config/config.ts';
import { type Definition, type PipelineOptions, pipeline } from '../config/pipeline.ts';
import { folderOf, pipelineFiles, shippedPipelines } from '../config/pipeline-files.ts';
import { env, type Setting, secret, setting, variableOf } from '../config/settings.ts';
import { Variables, withVariable } from '../config/variables.ts';
import type { Connector } from '../connectors/connector.ts';
import { Misconfigured, saidBy } from '../core/errors.ts';
import type { Context, Verb } from './context.ts';
import { print } from './output.ts';
import { pipelineOf, readingOptions, unknown } from './pipelines.ts';
import { askSource, checked, tableOf } from './setup.ts';

type Options = { readonly source?: string; readonly name?: string; readonly set?: readonly string[] };
type Declared = PipelineOptions<Connector>;

/** Without a source it only makes `.env` from the example, readable by its owner only. */
export const init: Verb<Options> = async (context, { source, name, set = [] }) => {
  const shipped = pipelinesOf(await shippedPipelines<Connector>());
  const names = shipped.map((each) => each.source.connector.name);
  const choice = setting.text(`the source: ${names.join(', ')}; empty: none yet`).optional();
  const called = (source ?? (await ask(context, 'source', choice))).replace('-', '').toLowerCase();
  const meant = shipped.find((each) => each.source.connector.name.toLowerCase() === called);
  const file = path.join(context.host.cwd(), '.env');
  const created = !fs.existsSync(file);
  const example = new URL('../../.env.example', import.meta.url);
  if (created) fs.writeFileSync(file, fs.readFileSync(example), { mode: 0o600, flag: 'wx' });
  if (called === '') {
    const did = created ? `Wrote ${file}.` : `${file} exists already; it was not changed.`;
    const next = 'Fill in the credentials of a source there, then run `tidemark check` and `tidemark sync`.';
    return print(context, { file, created }, [did, next]);
  }
  const ours = { ...(meant ?? unknown('source', called, names)), ...(name && { name }) };
  const files = await write(context, file, ours, set);
  const config = await context.parts.config();
  const check = await checked(context, ours.name, () => askSource(context, pipelineOf(config, ours.name)));
  const next = check.error ? 'tidemark check' : `tidemark sync ${ours.name}`;
  const hint = `${check.error ? `Correct ${file}. Then` : 'Next'}: \`${next}\``;
  const isNightly = config.nightly.pipelines.includes(ours.name);
  const nightly = !isNightly && `The file of nightly names its pipelines: add ${ours.name} there.`;
  const blocks = [`Wrote ${[file, ...files].join(', ')}.`, tableOf([check]), nightly, hint];
  return print(context, { file, created, pipeline: ours.name, files, check, next }, blocks, check.exitCode);
};

const pipelinesOf = (files: readonly { readonly definition: Definition<Connector> }[]): readonly Declared[] =>
  files.map(({ definition }) => definition).filter((each) => each.is === 'pipeline');

/** Writes `.env` and pipeline files from flags and answers; returns the new pipeline files. Throws Misconfigured, before it writes, for what is missing or wrong. */
async function write(context: Context, dotenv: string, { name, source }: Declared, set: readonly string[]) {
  const { connector } = source;
  const settings = Object.entries(connector.settings);
  const from = new Variables(context.host.env, context.host.cwd());
  const variable = (key: string) => variableOf(name.toUpperCase().replaceAll('-', '_'), key);
  const values = flagsOf(set, connector, from);
  const inForce = await pipelineFiles<Connector>(from);
  const own = inForce.filter(({ file }) => fs.existsSync(path.resolve(from.cwd, file)));
  // With the first file of the user's own, the pipelines that come with Tidemark are no longer read.
  const lost = pipelinesOf(inForce.filter((each) => !own.includes(each)))
    .filter((each) => each.name !== name || each.source.connector !== connector)
    .filter((each) => from.names().some((one) => one.startsWith(`${each.source.prefix}_`)));
  const given = settings.map(([key, { isSecret }]) => [key, (isSecret ? secret : env)(variable(key))]);
  const ours = { name, source: { connector, given: Object.fromEntries(given) } };
  const fileOf = (each: Declared) => path.join(folderOf(from), `${each.name}.ts`);
  const made = [...lost, ours].filter((each) => !fs.existsSync(fileOf(each)));
  const problems = async () => {
    const fresh = [...values].map(([key, value]) => [variable(key), value]);
    const all = { ...context.host.env, ...Object.fromEntries(fresh) };
    const files = made.map((each) => ({ file: fileOf(each), definition: pipeline(each) }));
    readingOptions(readConfig<Connector>(all, from.cwd, [...own, ...files]), name);
    return '';
  };
  // Lines of the pipeline file.
  const lines = [];
  for (const [key, each] of settings) {
    const is = variable(key);
    const current = each.isSecret ? from.secret(is) : from.text(is);
    const isNeeded = (each.isSecret && !connector.check) || (await problems().catch(saidBy)).includes(is);
    const answer = isNeeded && !current && !values.has(key) ? await ask(context, key, each) : '';
    if (answer) values.set(key, answer);
    if (current && current !== (values.get(key) ?? current))
      from.problem(is, `has another value in ${from.originOf(is)}; change it there`);
    if (current || values.has(key)) lines.push(`    ${key}: ${each.isSecret ? 'secret' : 'env'}('${is}'),\n`);
    if (current) values.delete(key);
  }
  const wrong = from.problems.join('\n  ') || (await problems().catch(saidBy));
  if (wrong) throw new Misconfigured(wrong.replace(/\S+: (\w+) \(\w+\)/g, '--set $1=…'));
  const old = fs.readFileSync(dotenv, 'utf8');
  const text = [...values].reduce((all, [key, value]) => withVariable(all, variable(key), value), old);
  fs.writeFileSync(dotenv, text);
  fs.mkdirSync(folderOf(from), { recursive: true });
  for (const each of made) fs.writeFileSync(fileOf(each), textOf(each, lines.join('')));
  return made.map(fileOf);
}

/** What `--set key=value` gives, by key. The value of a secret may be `@` and the file that holds it. */
function flagsOf(set: readonly string[], { settings }: Connector, from: Variables): Map<string, string> {
  const values = new Map<string, string>();
  for (const pair of set) {
    const [, key = '', text = ''] = /^(\w+)=(.*)$/s.exec(pair) ?? [];
    const { isSecret } = settings[key] ?? unknown('setting', key, Object.keys(settings));
    const isFile = isSecret && text.startsWith('@');
    const value = isFile ? from.file(key, path.resolve(from.cwd, text.slice(1))) : text.trim();
    if (value) values.set(key, value);
  }
  return values;
}

/** A pipeline file. `settings`: the lines of a source that is not read from all variables with its prefix. */
function textOf({ name, source: { connector, prefix } }: Declared, settings: string): string {
  const call = prefix ? `.fromEnv('${prefix}')` : `({\n${settings}  })`;
  const used = ['env', 'secret'].filter((word) => call.includes(` ${word}(`));
  const declared = `pipeline({\n  name: '${name}',\n  source: ${connector.name}${call},\n})`;
  return `import { ${[...used, connector.name, 'pipeline'].sort().join(', ')} } from 'tidemark';\n\nexport default ${declared};\n`;
}

/** Asks until the answer is right. Empty where there is no terminal. */
async function ask(context: Context, key: string, setting: Setting): Promise<string> {
  if (context.ask === undefined) return '';
  const answer = await context.ask(`${setting.about}\n${key}: `, setting.isSecret);
  const wrong = setting.schema.safeParse(answer || undefined).error;
  if (wrong === undefined) return answer;
  context.err.line(answer ? wrong.issues[0]?.message : 'It must be given.');
  return ask(context, key, setting);
}
