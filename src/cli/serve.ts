/** `serve`: scheduler, control API and dashboard in one process, until a signal ends it. */
import os from 'node:os';
import { nightly } from '../../pipelines/nightly.ts';
import type { Job } from '../../pipelines/pipeline.ts';
import { Misconfigured } from '../core/errors.ts';
import { minute, plural } from '../core/format.ts';
import { bareHost, isThisMachine } from '../core/this-machine.ts';
import { minutes, seconds } from '../core/time.ts';
import { connectionsFor } from '../engine/context/concurrency.ts';
import { openControl } from '../scheduler/control.ts';
import type { Catalogue, KnownDag, Timed } from '../scheduler/pipelines.ts';
import { openQueue, usualTimes } from '../scheduler/queue.ts';
import { due } from '../scheduler/schedule.ts';
import { type Service, type ServiceDeps, startService } from '../scheduler/service.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Context, Settings, Verb } from './context.ts';
import { causes, describe, exit } from './exit.ts';
import { listenError } from './local.ts';
import { toJson } from './output.ts';
import { configured, hasReconcile, pipelines, settingsOf } from './pipelines.ts';
import { openProgress } from './progress.ts';
import { openRunner } from './runner.ts';
import { current, pendingSteps } from './schema.ts';
import { untilStopped } from './signals.ts';
import { outboundOf, streamsOf } from './sources.ts';

/** Connections for the queue, the API and the pages. Runs have their own. */
const ownConnections = 8;

/** Their statements are small: one that takes longer means that the warehouse is cut off. */
const statementTimeoutMs = seconds(20);

/** An HTTP request that finds no connection within this time is answered with an error. */
const requestPatienceMs = seconds(1);

export const serve: Verb<{ readonly host?: string; readonly port?: number }> = async (context, flags) => {
  const { parts, signal, version, say } = context;
  const config = await parts.config();
  const address = addressOf(config, flags);
  let isOver = false;
  const warn = warnings(context);
  const trouble = (what: string, error?: unknown): void => (isOver ? undefined : warn(what, error));
  const [warehouse, catalogue] = await Promise.all([ownWarehouse(context), catalogueOf(config, version)]);
  const progress = await openProgress(context, { config, live: false });
  const warehouseOf = warehouses(context, config, warehouse);
  const runner = openRunner(context, { config, own: warehouse, warehouseOf, progress, warn: trouble });
  const times = { ...usualTimes, stuckMs: minutes(config.server.stuckMinutes) };
  const { withConnectLimit } = await import('../warehouse/connect.ts');
  const apiWarehouse: Warehouse = { ...warehouse, db: withConnectLimit(warehouse, requestPatienceMs) };
  const dags = catalogue.dags.map((dag) => dag.name);
  const queueTrouble = (error: unknown) => trouble('the queue of runs', error);
  const queue = await openQueue(warehouse, dags, queueTrouble, times.pollMs);
  const control = openControl(apiWarehouse, catalogue, queue, runner.preview);
  const ending = new AbortController();
  const app = await buildServer(context, config, { control, warehouse: apiWarehouse, trouble, ending });
  let service: Service | undefined;
  try {
    const url = await app.listen(address).catch((error: unknown) => {
      throw listenError(error, '--host and --port, or TIDEMARK_HOST and TIDEMARK_PORT');
    });
    // Only now: a process that cannot listen must not take requests from the queue.
    const name = `${os.hostname()} process ${process.pid}`;
    const events = callbacks(context, config, warehouse);
    service = startService({ warehouse, queue, catalogue, runner, name, times, trouble, ...events });
    announce(context, url, catalogue, config);
    await untilStopped(signal);
  } finally {
    // HTTP requests are answered until the runs have ended.
    if (service === undefined) await queue.end();
    else if (!(await service.end())) {
      say('the warehouse does not answer: runs of this process are resumed when their leases expire');
      // What still runs now fails because its connections are closed.
      isOver = true;
    }
    ending.abort();
    await app.close();
    progress.end();
  }
  return exit.ok;
};

/** Throws Misconfigured where an address that others can reach has no token. */
function addressOf({ server }: Settings, flags: { readonly host?: string; readonly port?: number }) {
  const host = flags.host === undefined ? server.host : bareHost(flags.host);
  if (isThisMachine(host) || server.apiToken !== undefined) return { host, port: flags.port ?? server.port };
  throw new Misconfigured(
    `--host ${host} can be reached from outside: set TIDEMARK_API_TOKEN, or listen on 127.0.0.1`,
  );
}

/** The warehouse with its schema up to date, through connections that no run can take. */
async function ownWarehouse(context: Context): Promise<Warehouse> {
  context.say('opening the warehouse');
  const { url } = await current(context.parts.warehouse, context.signal, context.say);
  const { connect } = await import('../warehouse/connect.ts');
  const options = { max: ownConnections, statementTimeout: statementTimeoutMs, signal: context.signal };
  return context.parts.keep(await connect(url.reveal(), options), (own) => own.close());
}

/** Each pipeline's connections, opened at its first run. */
function warehouses({ parts }: Context, config: Settings, { url }: Warehouse) {
  const opened = new Map<string, Promise<Warehouse>>();
  return (pipeline: string): Promise<Warehouse> => {
    const connections = connectionsFor(settingsOf(config, pipeline).concurrency);
    const warehouse = opened.get(pipeline) ?? parts.connected(url.reveal(), connections);
    opened.set(pipeline, warehouse);
    // The next run tries again.
    warehouse.catch(() => opened.delete(pipeline));
    return warehouse;
  };
}

/** Prints what goes wrong beside the runs; the same text once a minute at most. */
function warnings({ err, verbose }: Context): (what: string, error?: unknown) => void {
  const printed = new Map<string, number>();
  return (what, error) => {
    const text = error === undefined ? what : `${what}: ${describe(error).message}`;
    const now = performance.now();
    if (now - (printed.get(text) ?? Number.NEGATIVE_INFINITY) < minutes(1)) return;
    if (printed.size > 1000) printed.clear();
    printed.set(text, now);
    err.line(`${err.paint('yellow', 'warning')}: ${text}`);
    if (verbose && error !== undefined) for (const line of causes(error)) err.line(`  ${line}`);
  };
}

interface ServerParts {
  readonly control: ReturnType<typeof openControl>;
  readonly warehouse: Warehouse;
  readonly trouble: (what: string, error?: unknown) => void;
  readonly ending: AbortController;
}

/** The HTTP server: control API and dashboard. */
async function buildServer({ version, signal }: Context, { server }: Settings, parts: ServerParts) {
  const { control, warehouse, trouble, ending } = parts;
  const { db } = warehouse;
  const { buildApp } = await import('../server/api/app.ts');
  const { dashboard } = await import('../server/dashboard/dashboard.ts');
  const tokens = { operate: server.apiToken?.reveal(), read: server.readToken?.reveal() };
  const page = { control, db, tokens, version, trouble };
  return buildApp({
    control,
    db,
    tokens,
    version,
    trouble,
    pages: (pages) => dashboard(pages, { ...page, now: () => new Date() }),
    unready: () => unready(warehouse, signal),
    signal: ending.signal,
  });
}

/** Why the service cannot take requests now; empty: it can. */
async function unready(warehouse: Warehouse, signal: AbortSignal): Promise<readonly string[]> {
  if (signal.aborted) return ['it is ending'];
  const { takesWrites } = await import('../warehouse/connect.ts');
  try {
    const missing = await pendingSteps(warehouse);
    if (missing.length > 0)
      return [`the schema of the warehouse is ${plural(missing.length, 'step')} behind`];
    return (await takesWrites(warehouse)) ? [] : ['the warehouse is read-only'];
  } catch (error) {
    const isNewer = error instanceof Misconfigured;
    return [isNewer ? 'the warehouse was made by a newer version' : 'the warehouse does not answer'];
  }
}

function callbacks(
  { say }: Context,
  config: Settings,
  warehouse: Warehouse,
): Pick<ServiceDeps, 'ticked' | 'ended' | 'look'> {
  const outbound = outboundOf(warehouse, config);
  const names = configured(config).map(({ name }) => name);
  return {
    ticked: ({ pipeline, does, scheduledFor, covers, dagRunId, joined }) => {
      const missed = covers > 1 ? ` (the newest of ${covers} that were missed)` : '';
      const how = joined ? 'joins' : 'queued as';
      say(`${pipeline} ${does}: due at ${minute(scheduledFor)} UTC${missed}, ${how} ${dagRunId}`);
    },
    async ended({ id, ask }, { status }, trx) {
      const { onSuccess } = nightly;
      // Only a sync of every pipeline says that they are up to date.
      const isSync = ask.pipeline === nightly.name && (ask.does === 'sync' || ask.does === 'full');
      if (!isSync || onSuccess === undefined || status !== 'succeeded') return;
      const { enqueueHandoff } = await import('../outbound/handoff-queue.ts');
      await enqueueHandoff(trx, { pipeline: nightly.name, runKey: id, ofAll: true }, onSuccess);
    },
    async look(findings, signal) {
      const { checkHealth } = await import('../outbound/outbound.ts');
      await checkHealth(outbound, names, findings, signal);
    },
  };
}

/** What `serve` can run: every pipeline, and `nightly` over all of them. Sends nothing to the sources. */
export async function catalogueOf(config: Settings, version: string): Promise<Catalogue> {
  const ready = configured(config);
  // A job within `nightly` is shown with its own time.
  const timed = ({ does, on, within }: Job): Timed => ({ does, ...on, starts: within === undefined });
  const dag = async ({ name, about, needs, jobs }: (typeof pipelines)[number]): Promise<KnownDag> => {
    const isReady = ready.some((each) => each.name === name);
    const streams = isReady ? await streamsOf(name, config, version) : [];
    return {
      ...{ name, about, needs, configured: isReady },
      timed: jobs.map(timed),
      streams: streams.flatMap(({ stream, children }) => [stream, ...children]),
      hasReconcile: hasReconcile(name),
      parts: [name],
    };
  };
  const all: KnownDag = {
    ...{ name: nightly.name, about: nightly.about, configured: ready.length > 0 },
    needs: pipelines.map(({ needs }) => needs).join(' or '),
    timed: nightly.jobs.map(timed),
    streams: [],
    hasReconcile: ready.some(({ name }) => hasReconcile(name)),
    parts: ready.map(({ name }) => name),
  };
  return { dags: [all, ...(await Promise.all(pipelines.map(dag)))] };
}

function announce({ out, json, say }: Context, url: string, { dags }: Catalogue, { server }: Settings): void {
  const schedules = dags
    .filter((dag) => dag.configured)
    .flatMap((dag) =>
      dag.timed
        .filter(({ starts }) => starts)
        .map(({ does, cron, timeZone }) => {
          const nextAt = due({ cron, timeZone }).next(new Date());
          return { dag: dag.name, does, cron, timeZone, nextAt, runs: dag.parts };
        }),
    );
  if (json) {
    out.line(toJson({ type: 'serving', url, schedules }));
    return;
  }
  out.line(`Serving on ${url}`);
  for (const { dag, does, cron, timeZone, nextAt, runs } of schedules)
    out.line(`${dag} ${does}: ${cron} ${timeZone}, next ${minute(nextAt)} UTC (${runs.join(', ')})`);
  if (schedules.length === 0) out.line('Nothing is scheduled: no source is configured.');
  if (server.apiToken === undefined)
    say('No TIDEMARK_API_TOKEN is set: every user of this machine may start and stop runs.');
}
