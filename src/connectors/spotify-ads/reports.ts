/** All reports of the ads platform. */

export { reportDaily, reportHourly, reportLifetime } from './reports/aggregate.ts';
export { asyncReports } from './reports/csv.ts';
export { insightReports } from './reports/insight.ts';
