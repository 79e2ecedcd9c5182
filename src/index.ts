/** What pipeline files, connectors and programs import from `tidemark`. */
export type { Job, NightlyOptions, PipelineOptions } from './config/pipeline.ts';
export { nightly, pipeline } from './config/pipeline.ts';
export { env, secret, setting } from './config/settings.ts';
export type { Opened, Tools } from './connectors/connector.ts';
export { defineConnector } from './connectors/connector.ts';
export { dagu, jira, spotifyAds } from './connectors/index.ts';
export * from './core/errors.ts';
export type { RunEvent, RunReport } from './core/run.ts';
export type { Mapped, Slice, Stream } from './core/stream.ts';
export * from './core/table.ts';
export { type Auth, basic, bearer, clientCredentials } from './http/auth.ts';
export type { RunOptions } from './run.ts';
export { run } from './run.ts';
