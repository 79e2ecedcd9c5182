/** The programs that are compared, and how each is started. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { good } from '../../test/support/certificates.ts';
import type { Address } from './tracker.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** A program that loads the issues. */
export interface Peer {
  readonly name: string;
  /** A program with its arguments: a first load, or what changed since. */
  readonly load: readonly string[];
  /** What makes its tables show deletions, or comes nearest to it. */
  readonly deletions: readonly string[];
  /** `state`: a folder of its own. */
  readonly env: (at: Address, database: string, state: string) => Readonly<Record<string, string>>;
  /** Statements: live issues with their ids and summaries; the number `n` of entries of histories. */
  readonly live: string;
  readonly changes: string;
}

const tidemark = (...args: readonly string[]) => [
  process.execPath,
  path.join(root, 'src/tidemark.js'),
  ...args,
];

const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));

export const ours: Peer = {
  name: `Tidemark ${version}`,
  load: tidemark('sync', 'tracker', '--stream', 'issues', '--quiet'),
  deletions: tidemark('reconcile', 'tracker', '--stream', 'issues', '--quiet'),
  env: ({ url, email, token }, database) => ({
    DATABASE_URL: database,
    TRACKER_BASE_URL: url,
    TRACKER_EMAIL: email,
    TRACKER_API_TOKEN: token,
  }),
  live: 'select id::text, summary from tracker.issues where _deleted_at is null',
  changes: `select count(distinct history_id) as n from tracker.issue_changelog join tracker.issues i on i.id = issue_id
    where i._deleted_at is null`,
};

const script = (name: string) => path.join(import.meta.dirname, name);

/** Installs packages from PyPI into a virtual environment. Returns its folder of programs; throws where they cannot be had. */
function environment(folder: string, ...packages: readonly string[]): string {
  execFileSync('python3', ['-m', 'venv', folder], { stdio: 'pipe' });
  const bin = path.join(folder, 'bin');
  const pip = ['install', '--quiet', '--disable-pip-version-check', '--retries', '1'];
  execFileSync(path.join(bin, 'pip'), [...pip, ...packages], { stdio: 'pipe' });
  return bin;
}

/** What the scripts of peers read from their environment. */
const variables = (url: string, { email, token }: Address, database: string, state: string) => ({
  PEER_BASE_URL: url,
  PEER_EMAIL: email,
  PEER_TOKEN: token,
  PEER_DATABASE: database,
  PEER_STATE: state,
});

function dlt(folder: string): Peer {
  const bin = environment(path.join(folder, 'dlt'), 'dlt[postgres]==1.31.0');
  const load = [path.join(bin, 'python'), script('load_with_dlt.py')];
  return {
    name: 'dlt 1.31.0',
    load: [...load, 'merge'],
    deletions: [...load, 'replace'],
    env: (at, database, state) => ({
      ...variables(at.url, at, database, state),
      RUNTIME__DLTHUB_TELEMETRY: 'false',
    }),
    live: 'select id, fields__summary as summary from jira.issues',
    changes: 'select count(*) as n from jira.issues__changelog__histories',
  };
}

function singer(folder: string): Peer {
  const tap = environment(path.join(folder, 'tap'), 'tap-jira==2.6.0');
  const target = environment(path.join(folder, 'target'), 'meltanolabs-target-postgres==0.8.1');
  // The tap trusts these alone, whatever the environment says.
  const where = ['-c', 'import certifi; print(certifi.where())'];
  fs.appendFileSync(execFileSync(path.join(tap, 'python'), where, { encoding: 'utf8' }).trim(), good);
  const programs = [path.join(tap, 'tap-jira'), path.join(target, 'target-postgres')];
  const load = [path.join(target, 'python'), script('load_with_singer.py'), ...programs];
  return {
    name: 'tap-jira 2.6.0 and target-postgres 0.8.1 (Singer, Meltano)',
    load: [...load, 'changed'],
    deletions: [...load, 'all'],
    env: (at, database, state) => variables(at.olderUrl, at, database, state),
    live: `select id, fields ->> 'summary' as summary from jira.issues`,
    changes: 'select count(*) as n from jira.changelogs',
  };
}

/** Those that can be installed into this folder; the others are named, with the reason. */
export function installed(folder: string, say: (text: string) => void): readonly Peer[] {
  return [dlt, singer].flatMap((install) => {
    try {
      return [install(folder)];
    } catch (error) {
      const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
      say(`SKIPPED ${install.name}: no Python 3 or no PyPI: ${said.trim().split('\n').at(-1)}`);
      return [];
    }
  });
}
