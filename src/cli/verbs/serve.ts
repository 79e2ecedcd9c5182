import { nightly } from '../../../pipelines/nightly.ts';
import { Misconfigured } from '../../core/errors.ts';
import { bareHost, isThisMachine } from '../../core/this-machine.ts';
import { minutes, seconds } from '../../core/time.ts';
import { connectionsFor } from '../../engine/context/concurrency.ts';
import { openControl } from '../../scheduler/control.ts';
import type { Catalogue } from '../../scheduler/pipelines.ts';
import { openQueue, type Times, usualTimes } from '../../scheduler/queue.ts';
import { due } from '../../scheduler/schedule.ts';
import { type Service, type ServiceDeps, startService } from '../../scheduler/service.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import { catalogueOf } from '../catalogue.ts';
import type { Context, Settings, Verb } from '../context.ts';
import { exit, said } from '../exit.ts';
import { notListening } from '../listening.ts';
import { outboundOf } from '../outbound.ts';
import { progress } from '../progress/choose.ts';
import { toJson } from '../progress/json.ts';
import { plain } from '../progress/plain.ts';
import { openRunner } from '../runner.ts';
import { current, pendingSteps } from '../schema.ts';
import { settingsOf } from '../settings.ts';
import { minute, plural } from '../text.ts';
import { untilStopped } from '../until.ts';

/** Connections for the queue, the API and the pages; runs have their own. */
const ownConnections = 8;

/** Their statements are small: one that takes longer meets a warehouse that is cut off. */
const statementTimeout = seconds(20);

/** Whoever asks over HTTP is told within about this time that the warehouse is away, and asks again. */
const askedPatience = seconds(1);

/** Scheduler, control API and dashboard, until asked to stop. `times`: how long things take and wait. */
export const serve: Verb<{
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly times?: Partial<Times>;
}> = async (context, options) => {
  const { parts, signal, version, json, quiet } = context;
  const config = await parts.config();
  const { host, port } = listening(config, options);
  const say = (text: string): void => (quiet || json ? undefined : context.err.line(text));
  let hasLeft = false;
  const tell = troubles(context);
  const trouble = (what: string, error?: unknown): void => (hasLeft ? undefined : tell(what, error));
  const [warehouse, catalogue] = await Promise.all([
    ownWarehouse(context, say),
    catalogueOf(config, version),
  ]);
  const shown = json || quiet ? progress(context) : plain(context.err);
  const runner = openRunner(
    context,
    config,
    warehouse,
    warehouses(context, config, warehouse),
    shown,
    trouble,
  );
  const times = { ...usualTimes, stuckMs: minutes(config.server.stuckMinutes), ...options.times };
  const name = await ownName();
  let service: Service | undefined;
  const { hurried } = await import('../../warehouse/connect.ts');
  const asked: Warehouse = { ...warehouse, db: hurried(warehouse, askedPatience) };
  const names = catalogue.dags.map(({ name: dag }) => dag);
  const queue = await openQueue(
    warehouse,
    names,
    (error) => trouble('the queue of runs', error),
    times.pollMs,
  );
  const control = openControl(asked, catalogue, queue, runner.preview);
  const { buildApp } = await import('../../server/api/app.ts');
  const { dashboard } = await import('../../server/dashboard/dashboard.ts');
  const tokens = { operate: config.server.apiToken?.reveal(), read: config.server.readToken?.reveal() };
  const ending = new AbortController();
  const app = await buildApp({
    control,
    db: asked.db,
    tokens,
    pages: (pages) =>
      dashboard(pages, {
        control,
        db: asked.db,
        tokens,
        now: () => new Date(),
        version,
        trouble,
      }),
    version,
    unready: () => unready(asked, signal),
    signal: ending.signal,
    trouble,
  });
  try {
    const url = await app.listen({ host, port }).catch((error: unknown) => {
      throw notListening(error, '--host and --port, or TIDEMARK_HOST and TIDEMARK_PORT');
    });
    // Behind the address: a process that cannot have it must not take up anything.
    service = startService({
      warehouse,
      queue,
      catalogue,
      runner,
      name,
      times,
      ...events(context, config, warehouse, say),
      trouble,
    });
    announce(context, url, catalogue, config);
    await untilStopped(signal);
  } finally {
    // Who asks meanwhile is still answered; what is asked for waits in the warehouse.
    if (service !== undefined && service.busy() > 0)
      say(`ending ${plural(service.busy(), 'run')} in good order`);
    if (service !== undefined && !(await service.end())) {
      say(
        'the warehouse does not answer: what ran here is taken up when its lease is over, here or elsewhere',
      );
      // What it was still about finds its connections closed.
      hasLeft = true;
    }
    if (service === undefined) await queue.end();
    ending.abort();
    await app.close();
    shown.end();
  }
  return exit.ok;
};

/** Throws Misconfigured where an address that others can reach has no token. */
function listening(
  { server }: Settings,
  flags: { readonly host?: string | undefined; readonly port?: number | undefined },
) {
  const host = flags.host === undefined ? server.host : bareHost(flags.host);
  if (!isThisMachine(host) && server.apiToken === undefined)
    throw new Misconfigured(
      `--host ${host} can be reached from outside: set TIDEMARK_API_TOKEN, or listen on 127.0.0.1`,
    );
  return { host, port: flags.port ?? server.port };
}

/** The warehouse with its schema up to date, through connections that no run can take. */
async function ownWarehouse(context: Context, say: (text: string) => void): Promise<Warehouse> {
  say('opening the warehouse');
  const opened = await current(context, say);
  const { connect } = await import('../../warehouse/connect.ts');
  const options = { max: ownConnections, statementTimeout, signal: context.signal };
  return context.parts.keep(await connect(opened.url.reveal(), options), (own) => own.close());
}

/** Each pipeline's connections, opened at its first run. */
function warehouses(
  { parts }: Context,
  config: Settings,
  { url }: Warehouse,
): (pipeline: string) => Promise<Warehouse> {
  const opened = new Map<string, Promise<Warehouse>>();
  return (pipeline) => {
    const known =
      opened.get(pipeline) ??
      parts.connected(url.reveal(), connectionsFor(settingsOf(config, pipeline).concurrency));
    opened.set(pipeline, known);
    // One that could not be opened is tried again.
    known.catch(() => opened.delete(pipeline));
    return known;
  };
}

async function ownName(): Promise<string> {
  const { hostname } = await import('node:os');
  return `${hostname()} process ${process.pid}`;
}

/** Says what went wrong beside the runs; the same again only once a minute. */
function troubles({ err, verbose }: Context): (what: string, error?: unknown) => void {
  const told = new Map<string, number>();
  return (what, error) => {
    const text = error === undefined ? what : `${what}: ${said(error).message}`;
    const now = performance.now();
    if (now - (told.get(text) ?? Number.NEGATIVE_INFINITY) < minutes(1)) return;
    if (told.size > 1000) told.clear();
    told.set(text, now);
    err.line(`${err.paint('yellow', 'warning')}: ${text}`);
    if (verbose && error instanceof Error)
      for (const line of (error.stack ?? '').split('\n').slice(1, 8)) err.line(line);
  };
}

function events(
  context: Context,
  config: Settings,
  warehouse: Warehouse,
  say: (text: string) => void,
): Pick<ServiceDeps, 'ticked' | 'ended' | 'look'> {
  const outbound = outboundOf(warehouse, config);
  return {
    ticked: ({ pipeline, does, scheduledFor, covers, dagRunId, joined }) =>
      say(
        `${pipeline} ${does}: due at ${minute(scheduledFor)} UTC${covers > 1 ? ` (the newest of ${covers} that were missed)` : ''}, ${joined ? 'joins' : 'queued as'} ${dagRunId}`,
      ),
    async ended({ id, ask }, { status }, trx) {
      if (ask.pipeline !== nightly.name || nightly.onSuccess === undefined || status !== 'succeeded') return;
      // A backfill or a reconciliation of every pipeline does not say that they are up to date.
      if (ask.does !== 'sync' && ask.does !== 'full') return;
      const { intend } = await import('../../outbound/intent.ts');
      await intend(trx, { pipeline: nightly.name, runKey: id, ofAll: true }, nightly.onSuccess);
    },
    async look(findings, signal) {
      const { lookAround } = await import('../../outbound/outbound.ts');
      const { configured } = await import('../pipelines.ts');
      await lookAround(
        outbound,
        configured(config).map((each) => each.name),
        findings,
        AbortSignal.any([signal, context.signal]),
      );
    },
  };
}

/** What keeps the service from being ready. */
async function unready(warehouse: Warehouse, signal: AbortSignal): Promise<readonly string[]> {
  if (signal.aborted) return ['it is ending'];
  const { takesWrites } = await import('../../warehouse/connect.ts');
  try {
    const missing = await pendingSteps(warehouse);
    if (missing.length > 0)
      return [`the schema of the warehouse is ${plural(missing.length, 'step')} behind`];
    return (await takesWrites(warehouse)) ? [] : ['the warehouse is read-only'];
  } catch (error) {
    return [
      error instanceof Misconfigured
        ? 'the warehouse was made by a newer version'
        : 'the warehouse does not answer',
    ];
  }
}

function announce(
  { out, err, json, quiet }: Context,
  url: string,
  { dags }: Catalogue,
  { server }: Settings,
): void {
  const now = new Date();
  const schedules = dags.flatMap((dag) =>
    dag.configured
      ? dag.timed
          .filter(({ starts }) => starts)
          .map((timed) => ({
            dag: dag.name,
            does: timed.does,
            cron: timed.cron,
            timeZone: timed.timeZone,
            nextAt: due(timed).next(now),
            runs: dag.parts,
          }))
      : [],
  );
  if (json) {
    out.line(toJson({ type: 'serving', url, schedules }));
    return;
  }
  out.line(`Serving on ${url}`);
  for (const { dag, does, cron, timeZone, nextAt, runs } of schedules)
    out.line(`${dag} ${does}: ${cron} ${timeZone}, next ${minute(nextAt)} UTC (${runs.join(', ')})`);
  if (schedules.length === 0) out.line('Nothing is scheduled: no source is configured.');
  if (!quiet && server.apiToken === undefined)
    err.line('No TIDEMARK_API_TOKEN is set: whoever is on this machine may start and stop runs.');
}
