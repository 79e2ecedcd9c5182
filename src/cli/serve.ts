/** `serve`: scheduler, control API and dashboard in one process, until a signal ends it. */
import os from 'node:os';
import { Misconfigured } from '../core/errors.ts';
import { plural } from '../core/format.ts';
import { bareHost, isThisMachine } from '../core/this-machine.ts';
import { minutes, seconds } from '../core/time.ts';
import { sendTest } from '../outbound/deliver.ts';
import { checkHealth } from '../outbound/outbound.ts';
import { noteSettings } from '../queries/lists.ts';
import { handOverNight, outboundOf } from '../runs/after.ts';
import { lackOfConnections, lender, ownConnections, type ProgramSettings } from '../runs/assemble.ts';
import { openRunner } from '../runs/nightly.ts';
import * as lookup from '../runs/pipelines.ts';
import { openControl } from '../scheduler/control.ts';
import { openQueue, usualTimes } from '../scheduler/queue.ts';
import type { DagCatalogue, KnownDag } from '../scheduler/run-request.ts';
import { type Service, startService } from '../scheduler/service.ts';
import { buildApp } from '../server/api/app.ts';
import { dashboard } from '../server/dashboard/dashboard.ts';
import { takesWrites, type Warehouse, withConnectLimit } from '../warehouse/connect.ts';
import { type Context, untilStopped, type Verb } from './context.ts';
import { describe, exit } from './exit.ts';
import { toJson } from './output.ts';
import { openProgress } from './progress.ts';
import { listenError } from './setup.ts';

/** Their statements are small: one that takes longer means that the warehouse is cut off. */
const statementTimeoutMs = seconds(20);

/** An HTTP request that finds no connection within this time is answered with an error. */
const connectLimitMs = seconds(1);

export const serve: Verb<{ host?: string; port?: number }> = async (context, flags) => {
  const { parts, signal, version, say, out, json } = context;
  const config = await parts.config();
  await lookup.checkSchedules(config);
  const address = addressOf(config, flags);
  // Aborted when the runs have ended, or when they cannot end because the warehouse does not answer: then they may fail unseen.
  const ending = new AbortController();
  const warn = warnings(context);
  const trouble = (what: string, error?: unknown): void =>
    ending.signal.aborted ? undefined : warn(what, error);
  const [warehouse, catalogue] = await Promise.all([ownWarehouse(context), catalogueOf(config, version)]);
  const lacking = await lackOfConnections(warehouse, config);
  if (lacking !== undefined) warn(lacking);
  const pipelines = config.pipelines.map(({ name, connector, nameOf }) => {
    return { pipeline: name, names: Object.keys(connector.settings).map(nameOf) };
  });
  await noteSettings(warehouse.db, { shown: config.shown, pipelines });
  const progress = await openProgress(context, { config, live: false });
  const lend = lender(parts, config, warehouse);
  const outbound = outboundOf(warehouse, config);
  const runner = openRunner(context, { config, outbound, lend, progress, warn: trouble });
  const times = { ...usualTimes, stuckMs: minutes(config.server.stuckMinutes) };
  const sites = {
    jobs: config.server.jobsPerSite,
    of: (pipeline: string) => catalogue.find(({ name }) => name === pipeline)?.site,
  };
  const queue = await openQueue(warehouse, (error) => trouble('the queue of runs', error), sites);
  const api: Warehouse = { ...warehouse, db: withConnectLimit(warehouse, connectLimitMs) };
  const control = openControl(api, catalogue, queue, runner.preview);
  const tokens = { operate: config.server.apiToken?.reveal(), read: config.server.readToken?.reveal() };
  const deps = { control, db: api.db, tokens, version, trouble, signal: ending.signal, settings: config };
  const tonight = () => runner.tonight(ending.signal);
  const sendTests = () => sendTest(outbound.channels, ending.signal, api.db);
  const app = await buildApp({
    ...deps,
    pages: (pages) =>
      dashboard(pages, { ...deps, replay: runner.replay, tonight, sendTests, now: () => new Date() }),
    unready: () => unready(api, config, signal),
  });
  let service: Service | undefined;
  try {
    const url = await app.listen(address).catch((error: unknown) => {
      throw listenError(error, '--host and --port, or TIDEMARK_HOST and TIDEMARK_PORT');
    });
    // Only now: a process that cannot listen must not take requests from the queue.
    const name = `${os.hostname()} process ${process.pid}`;
    const names = lookup.configured(config).map(({ name }) => name);
    service = await startService({
      warehouse,
      queue,
      catalogue,
      runner,
      name,
      times,
      trouble,
      ended: (request, trx) => handOverNight(trx, outbound, request),
      look: (findings, at) => checkHealth(outbound, names, findings, at),
      jobs: config.server.jobs,
    });
    out.line(json ? toJson({ type: 'serving', url }) : `Serving on ${url}`);
    if (!catalogue.some((dag) => dag.configured)) say('Nothing is scheduled: no source is configured.');
    if (config.server.apiToken === undefined)
      say('No TIDEMARK_API_TOKEN is set: every user of this machine may start and stop runs.');
    await untilStopped(signal);
  } finally {
    // HTTP requests are answered until the runs have ended.
    if (service === undefined) await queue.end();
    else if (!(await service.end()))
      say('the warehouse does not answer: runs of this process are resumed when their leases expire');
    ending.abort();
    await app.close();
    progress.end();
  }
  return exit.ok;
};

/** Throws Misconfigured where an address that others can reach has no token. */
function addressOf({ server }: ProgramSettings, flags: { host?: string; port?: number }) {
  const host = flags.host === undefined ? server.host : bareHost(flags.host);
  if (isThisMachine(host) || server.apiToken !== undefined) return { host, port: flags.port ?? server.port };
  const fix = 'set TIDEMARK_API_TOKEN, or listen on 127.0.0.1';
  throw new Misconfigured(`--host ${host} can be reached from outside · ${fix}`);
}

/** The warehouse with its schema up to date, through connections that no run can take. */
async function ownWarehouse(context: Context): Promise<Warehouse> {
  const { parts, say } = context;
  say('opening the warehouse');
  const { url } = await lookup.current(context);
  return parts.connected(url.reveal(), { max: ownConnections, statementTimeout: statementTimeoutMs });
}

/** Prints what goes wrong beside the runs; the same text once a minute at most. */
function warnings({ warn }: Context): (what: string, error?: unknown) => void {
  const printed = new Set<string>();
  setInterval(() => printed.clear(), minutes(1)).unref();
  return (what, error) => {
    const text = error === undefined ? what : `${what}: ${describe(error).message}`;
    if (!printed.has(text)) warn(text, error);
    printed.add(text);
  };
}

/** Why the service cannot take requests now; empty: it can. */
async function unready(warehouse: Warehouse, config: ProgramSettings, signal: AbortSignal) {
  if (signal.aborted) return ['it is ending'];
  try {
    const missing = await lookup.pendingSteps(warehouse, config);
    if (missing.length > 0)
      return [`the schema of the warehouse is ${plural(missing.length, 'step')} behind`];
    return (await takesWrites(warehouse)) ? [] : ['the warehouse is read-only'];
  } catch {
    return ['the warehouse does not answer, or a newer version made it'];
  }
}

/** What `serve` can run: every pipeline, and `nightly` over several of them. Sends nothing to the sources. */
async function catalogueOf(config: ProgramSettings, version: string): Promise<DagCatalogue> {
  const ready = lookup.configured(config).map(({ name }) => name);
  const reconciled = lookup.reconciled(config);
  type ScheduledPipeline = Pick<lookup.Pipeline, 'name' | 'about' | 'jobs'>;
  const known = (each: ScheduledPipeline, needs: string, parts: readonly string[]): KnownDag => ({
    name: each.name,
    about: each.about,
    needs,
    streams: [],
    // A job within `nightly` is shown with its own time.
    timed: each.jobs.map(({ does, on, within }) => ({ does, ...on, starts: within === undefined })),
    configured: parts.some((part) => ready.includes(part)),
    hasReconcile: parts.some((part) => reconciled.includes(part)),
  });
  const dags = config.pipelines.map(async (each) => {
    const dag = known(each, each.needs, [each.name]);
    const streams = dag.configured ? await lookup.streamsOf(each.name, config, version) : [];
    return { ...dag, site: streams[0]?.site, streams: streams.flatMap(({ tables }) => tables) };
  });
  const needs = config.pipelines.map((each) => each.needs).join(' or ');
  return [known(config.nightly, needs, lookup.partsOfNightly(config)), ...(await Promise.all(dags))];
}
