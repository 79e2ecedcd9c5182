/**
 * The rest of what the shipped connectors are made of, for sources that need more than `tidemark` itself exports: lists that come in several
 * dialects, report jobs, CSV files, exact numbers. A test holds that they use nothing else.
 */
export * as values from './config/values.ts';
export * as abort from './core/abort.ts';
export * as dagEngine from './core/dag-engine.ts';
export * from './core/exclude.ts';
export * as format from './core/format.ts';
export * as decimal from './core/json.ts';
export * as json from './core/json.ts';
export * from './core/make-directory.ts';
export * from './core/memoize-async.ts';
// Connectors outside this repository may use any of these names.
export * as recordObject from './core/record.ts';
export * as recordParts from './core/record.ts';
export * as recordReader from './core/record.ts';
export * as recordTable from './core/record-table.ts';
export * as recordValues from './core/record-values.ts';
export * as columns from './core/table.ts';
export * as time from './core/time.ts';
export * from './http/access-tokens.ts';
export * from './http/advice.ts';
export { createHttp } from './http/client.ts';
export * from './http/closed-endpoints.ts';
export * from './http/hand-on.ts';
export type { HttpOptions, Rate } from './http/http-options.ts';
export type { Proxies } from './http/proxy.ts';
export * as csv from './reading/csv/csv.ts';
export * as csvLines from './reading/csv/lines.ts';
export * from './reading/download.ts';
export * from './reading/map-concurrent.ts';
export * from './reading/merge-concurrent.ts';
export * from './reading/pages.ts';
export * as paginators from './reading/paginators.ts';
export { pageSizeOf } from './reading/paginators.ts';
export * as reportJobs from './reading/report-jobs.ts';
export * as lists from './reading/requests.ts';
