import type { Schedule } from './pipeline.ts';

/** Every night, when people sleep and rate limits are free. */
export const nightly: Schedule = { cron: '0 2 * * *', timeZone: 'UTC' };

/** Early on Sundays, for what walks everything. */
export const weekly: Schedule = { cron: '0 4 * * 0', timeZone: 'UTC' };
