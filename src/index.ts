/** What pipeline files, connectors and programs import from `tidemark`. docs/connectors.md shows how they go together. */

// Pipelines
export type { NightlyOptions, PipelineOptions, Report } from './config/pipeline.ts';
export { nightly, pipeline } from './config/pipeline.ts';
export { env, secret, setting } from './config/settings.ts';
// Connectors: what one is, its tables, how it signs in and reads lists
export type { Opened, Tools } from './connectors/connector.ts';
export { defineConnector } from './connectors/connector.ts';
export { dagu, jira, spotifyAds } from './connectors/index.ts';
export * from './core/errors.ts';
export { field, from, readInto, records, transformOf } from './core/record-table.ts';
export type { RunEvent, RunReport } from './core/run.ts';
export type { Http, Json, Mapped, Page, PageWalk, Paging, Request, Slice, Stream } from './core/stream.ts';
export * as column from './core/table.ts';
export type { Vault } from './core/vault.ts';
export { type Auth, basic, bearer, clientCredentials } from './http/auth.ts';
export {
  continuation,
  cursor,
  fullPages,
  linkHeader,
  offset,
  pageToken,
  single,
} from './reading/paginators.ts';
export { changesBy, existsAt, get, idBy, listNamed } from './reading/requests.ts';
export type { RunOptions } from './run.ts';
export { run } from './run.ts';
