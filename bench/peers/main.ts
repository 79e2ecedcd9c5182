/**
 * `npm run bench:peers`: Tidemark, dlt and a tap of Singer load the issues of one simulated Jira into one Postgres, in turns. Prints how long
 * each takes and how its tables differ from the tracker, and writes docs/peers.md. What cannot be installed here is skipped, and says so.
 */
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openEmbedded } from '../../src/embedded/embedded.ts';
import { service } from '../processes.ts';
import { median } from '../statistics.ts';
import { installed, ours, type Peer } from './peers.ts';
import { type Address, summaryOf, type Truth } from './tracker.ts';

const { values } = parseArgs({
  options: {
    issues: { type: 'string', default: '5000' },
    rounds: { type: 'string', default: '3' },
    /** Print only, leave docs/peers.md alone. */
    dry: { type: 'boolean', default: false },
  },
});
const issues = Number(values.issues);
const rounds = Number(values.rounds);
const root = path.resolve(import.meta.dirname, '../..');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-peers-'));
// As root the server runs as somebody else, who must be able to pass through.
fs.chmodSync(folder, 0o711);
const document = path.join(root, 'docs/peers.md');
/** What is written below it is measured. */
const mark = '## Measured';
const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** Seconds that a program takes to its end. Throws what it said where it fails. */
async function timed(
  [program = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const began = performance.now();
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      said += text;
    });
  const [code] = await new Promise<[number | null]>((resolve) =>
    child.once('close', (...ended) => resolve([ended[0]])),
  );
  if (code !== 0) throw new Error(`${[program, ...args].join(' ')} ended with ${code}:\n${said}`);
  return (performance.now() - began) / 1000;
}

/** How the tables of a program differ from the tracker. */
interface Differences {
  readonly missing: number;
  /** Issues with an older summary than the tracker's. */
  readonly old: number;
  /** Deleted issues that the tables show. */
  readonly deleted: number;
  /** Entries of histories: of the tables less those of the tracker. */
  readonly changes: number;
}

async function differences(peer: Peer, database: string, truth: Truth): Promise<Differences> {
  const client = new pg.Client(database);
  await client.connect();
  const { rows: live } = await client.query<{ id: string; summary: string }>(peer.live);
  const { rows: counts } = await client.query<{ n: string }>(peer.changes);
  await client.end();
  const summaries = new Map(live.map(({ id, summary }) => [id, summary]));
  const deleted = gone.filter((id) => summaries.has(id)).length;
  return {
    missing: truth.issues - (summaries.size - deleted),
    old: [...changed].filter(([id, summary]) => summaries.has(id) && summaries.get(id) !== summary).length,
    deleted,
    changes: Number(counts[0]?.n) - truth.changes,
  };
}

const steps = ['first load', '1 % changed', 'deletions'] as const;
type Step = (typeof steps)[number];

/** What was measured of a program, by step, one for each round. */
type Results = Record<Step, { seconds: number; differences: Differences }[]>;

const server = await openEmbedded(path.join(folder, 'home'));
const admin = new pg.Client(server.url);
await admin.connect();
const tracker = await service<Address>('bench/peers/tracker.ts', [String(issues)]);
const truthAfter = async (order: object): Promise<Truth> => (await tracker.ask(order)) as Truth;

const peers = [ours, ...installed(folder, say)];
const results = new Map<Peer, Results>(
  peers.map((peer) => [peer, { 'first load': [], '1 % changed': [], deletions: [] }]),
);
const gone: string[] = [];
const changed = new Map<string, string>();

/** Each program in turn, another one first in each round. */
async function inTurn(step: Step, round: number, truth: Truth): Promise<void> {
  for (const place of peers.keys()) {
    const peer = peers[(place + round) % peers.length] as Peer;
    const name = `peer_${peers.indexOf(peer)}_${round}`;
    if (step === 'first load') await admin.query(`create database ${name}`);
    const database = Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
    const env = peer.env(tracker.ready, database, path.join(folder, name));
    const seconds = await timed(step === 'deletions' ? peer.deletions : peer.load, env);
    const found = await differences(peer, database, truth);
    results.get(peer)?.[step].push({ seconds, differences: found });
    say(`round ${round + 1}, ${step}, ${peer.name}: ${seconds.toFixed(1)} s ${JSON.stringify(found)}`);
  }
}

/** The same in each round, or each round's. */
const each = (list: readonly number[]): string =>
  new Set(list).size === 1 ? String(list[0]) : list.join(', ');

const titles =
  'step | program | seconds, median | of each round | issues missing | with an old summary | deleted, shown';

function page(): string {
  const rows = steps.flatMap((step) =>
    peers.map((peer) => {
      const measured = results.get(peer)?.[step] ?? [];
      const of = (what: keyof Differences): string => each(measured.map(({ differences: all }) => all[what]));
      const seconds = measured.map((one) => one.seconds);
      const cells = [
        step,
        peer.name,
        median(seconds).toFixed(1),
        seconds.map((one) => one.toFixed(1)).join(', '),
        of('missing'),
        of('old'),
        of('deleted'),
        of('changes'),
      ];
      return `| ${cells.join(' | ')} |`;
    }),
  );
  const [cpu] = os.cpus();
  const before = fs.readFileSync(document, 'utf8').split(mark)[0] ?? '';
  return `${before}${mark}

Measured on ${new Date().toISOString().slice(0, 10)}: ${issues.toLocaleString('en')} issues, ${rounds} rounds, ${os.cpus().length} cores (${cpu?.model.trim()}) that
the programs share with the simulated Jira and Postgres, Node ${process.versions.node}.

| ${titles} | entries of histories: tables less tracker |
|---|---|--:|---|--:|--:|--:|--:|
${rows.join('\n')}
`;
}

try {
  let truth = await truthAfter({});
  for (let round = 0; round < rounds; round += 1) {
    await inTurn('first load', round, truth);
    truth = await truthAfter({ change: true });
    for (const id of truth.changed) changed.set(id, summaryOf(round + 1));
    gone.push(...truth.deleted);
    await inTurn('1 % changed', round, truth);
    await inTurn('deletions', round, truth);
  }
  const text = page();
  console.log(text);
  if (!values.dry && peers.length > 1) fs.writeFileSync(document, text);
} finally {
  await tracker.stop();
  await admin.end();
  await server.release();
  fs.rmSync(folder, { recursive: true, force: true });
}
