/** The story of the demo: a company, a first sync, changes at the company, a second sync and a reconcile. */
import type pg from 'pg';
import { plural } from '../../src/core/format.ts';
import type { RunReport } from '../../src/core/run.ts';
import { type DemoCompany, pipelines, startCompany } from './company.ts';
import type { Facts } from './facts.ts';

/** A run of the demo. */
export interface Ran {
  readonly what: string;
  readonly report: RunReport;
}

/** What the command provides. */
export interface Stage {
  /** Prints a line of talk. */
  readonly say: (text: string) => void;
  /** The same for the title of a step. */
  readonly title: (text: string) => void;
  readonly verbose: boolean;
  /** The warehouse, empty at the start. */
  readonly pool: pg.Pool;
  /** Runs a pipeline that the environment configures. */
  readonly run: (
    pipeline: string,
    does: 'sync' | 'reconcile',
    environment: Readonly<Record<string, string>>,
  ) => Promise<RunReport>;
  /** Registers the company to be closed at the end of the command. */
  readonly keep: (company: DemoCompany, close: (company: DemoCompany) => Promise<unknown>) => DemoCompany;
}

/** Tells it. */
export async function play(
  { seed, issues }: { readonly seed: number; readonly issues: number },
  { say, title, verbose, pool, run, keep }: Stage,
): Promise<{ readonly runs: readonly Ran[]; readonly facts: Facts }> {
  title(`A simulated company with ${plural(issues, 'issue')}, two syncs and a reconcile.`);
  const company = keep(await startCompany(seed, issues), (part) => part.close());
  for (const [name, at] of verbose ? company.urls : []) say(`${name}: ${at}, seed ${seed}`);
  // Which DAGs deploy, only the company itself knows.
  await pool.query(`insert into ref.dag_roles values ('deploy_%', 'deployment')`);
  const runs: Ran[] = [];
  const step = async (text: string, names: readonly string[], does: 'sync' | 'reconcile') => {
    title(text);
    for (const pipeline of names) {
      const report = await run(pipeline, does, company.environment);
      runs.push({ what: `${text.slice(3)} (${pipeline})`, report });
    }
  };
  await step('1. first sync: everything', pipelines, 'sync');
  const first = runs.map(({ report }) => report);
  const changes = company.change();
  say(`Meanwhile at the company: ${plural(changes.length, 'change')}`);
  for (const { what } of verbose ? changes : []) say(`  ${what}`);
  await step('2. second sync: what changed', pipelines, 'sync');
  await step('3. reconcile: what is gone', ['tracker'], 'reconcile');
  return { runs, facts: await company.facts(pool, first, changes) };
}
