/** Report jobs at a source: created, waited for, and adopted by the run that comes after a crash instead of being created twice. */

import { RateLimited, saidBy, type TidemarkError, Transient, Unreachable } from '../core/errors.ts';
import type { JobLedger, ReportJob } from '../core/stream.ts';
import { hours, minutes, seconds } from '../core/time.ts';
import { sleep as wait } from '../http/with-retry.ts';

/** What the source says of a job. gone: it does not know the job (any more). */
export type Look =
  | { readonly is: 'working' }
  | { readonly is: 'ready'; readonly address: string }
  | { readonly is: 'failed' | 'expired' | 'gone'; readonly reason: string };

/** A kind of job. */
export interface Jobs {
  /** Names the job in messages, e.g. the endpoint. */
  readonly what: string;
  /** What is asked for, as text for people. */
  readonly request: string;
  /** Asks for a job; its id. Throws what the source answers. */
  create(signal: AbortSignal): Promise<string>;
  look(id: string, signal: AbortSignal): Promise<Look>;
  readonly limits?: Partial<JobLimits>;
  /** For tests: the dice, the wall clock and how to wait. */
  readonly random?: () => number;
  readonly now?: () => Date;
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Times in milliseconds. */
const defaultJobLimits = {
  /** Jobs created for one reading. */
  attempts: 3,
  /** Before the second look; it grows by half each time. The real waits are up to a fifth shorter or longer. */
  firstMs: seconds(2),
  mostMs: seconds(60),
  /** For one job to be ready. */
  deadlineMs: minutes(30),
  /** An older job is not adopted: its numbers are of then. */
  adoptMs: hours(48),
};

type JobLimits = Readonly<typeof defaultJobLimits>;

/** A job that is ready, and where its result is. */
export type Ready = Readonly<Record<'id' | 'address', string>>;

/**
 * Waits for the slice's job: the one that the ledger knows, else a new one. A job that failed, expired, is not known to the source or is too old
 * is followed by another, as is one whose creation was not confirmed; `limits.attempts` in all. Every step is in the ledger before the next.
 *
 * Throws `Transient` where a job is not ready in time (it stays submitted, and the next run adopts it) or all have failed, and what `create`
 * and `look` throw.
 */
export const awaitJob = async (ledger: JobLedger, jobs: Jobs, signal: AbortSignal): Promise<Ready> => {
  const { what, request, now = () => new Date(), sleep = wait, random = Math.random } = jobs;
  const limits = { ...defaultJobLimits, ...jobs.limits };
  let created = 0;
  let failure: TidemarkError | undefined;
  for (let id = await adopted(ledger, now(), limits); ; id = undefined) {
    if (id === undefined) {
      if (created++ >= limits.attempts)
        throw new Transient(`${what}: ${created - 1} reports in a row came to nothing: ${failure?.message}`, {
          cause: failure,
        });
      await ledger.creating(request);
      try {
        id = await jobs.create(signal);
      } catch (error) {
        if (!isUnconfirmed(error)) {
          if (!signal.aborted) await ledger.became('failed', saidBy(error));
          throw error;
        }
        // It may or may not exist. Another one does no harm; a report that is never loaded does.
        failure = error;
        if (created < limits.attempts)
          await sleep(limits.firstMs * 2 ** created * (0.8 + 0.4 * random()), signal);
        continue;
      }
      await ledger.submitted(id);
    }
    const look = await ready(id, jobs, limits, signal);
    if (look.is === 'ready') {
      await ledger.became('ready');
      return { id, address: look.address };
    }
    failure = new Transient(`the report ${id} ${look.is}: ${look.reason}`);
    await ledger.became(look.is === 'gone' ? 'abandoned' : look.is, look.reason);
  }
};

/** The address of a job's result, asked for again. Throws `Transient` where the job has no result any more. */
export const readyAgain = async (ledger: JobLedger, jobs: Jobs, id: string, signal: AbortSignal) => {
  const look = await jobs.look(id, signal);
  if (look.is === 'ready') return look.address;
  if (look.is !== 'working') await ledger.became(look.is === 'gone' ? 'abandoned' : look.is, look.reason);
  throw new Transient(`${jobs.what}: the report ${id} was ready and now is ${look.is}`);
};

/** The id of the job to go on with; undefined where a new one is needed. */
const adopted = async (ledger: JobLedger, now: Date, { adoptMs }: JobLimits): Promise<string | undefined> => {
  const job: ReportJob | undefined = await ledger.current();
  if (job?.id === undefined || (job.status !== 'submitted' && job.status !== 'ready')) return undefined;
  const age = job.submittedAt === undefined ? 0 : now.getTime() - job.submittedAt.getTime();
  if (age <= adoptMs && !job.overtaken) return job.id;
  const why = job.overtaken ? 'its days were read since' : 'too old';
  await ledger.became('abandoned', `${why}: its numbers are of then`);
  return undefined;
};

/** Looks until the job is not working any more. */
const ready = async (
  id: string,
  { what, look, random = Math.random, sleep = wait }: Jobs,
  { firstMs, mostMs, deadlineMs }: JobLimits,
  signal: AbortSignal,
): Promise<Exclude<Look, { readonly is: 'working' }>> => {
  let waited = 0;
  for (let pause = firstMs; ; pause = Math.min(mostMs, pause * 1.5)) {
    const seen = await look(id, signal);
    if (seen.is !== 'working') return seen;
    if (waited >= deadlineMs)
      throw new Transient(
        `${what}: the report ${id} is not ready after ${Math.round(waited / 60_000)} minutes; the next run looks again`,
      );
    const ms = Math.min(pause * (0.8 + 0.4 * random()), Math.max(1, deadlineMs - waited));
    await sleep(ms, signal);
    waited += ms;
  }
};

/** True if we cannot know whether the request arrived. Without a connection it did not, but is retried likewise; a 429 created nothing. */
const isUnconfirmed = (error: unknown): error is TidemarkError =>
  (error instanceof Transient && !(error instanceof RateLimited)) || error instanceof Unreachable;
