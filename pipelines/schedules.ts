import type { Schedule } from './pipeline.ts';

/** Every night, when people sleep and rate limits are free. */
export const everyNight: Schedule = { cron: '0 2 * * *', timeZone: 'UTC' };

/** Due from Sunday 00:00 UTC; the nightly run at 02:00 does it. For what reads everything. */
export const everySunday: Schedule = { cron: '0 0 * * 0', timeZone: 'UTC' };
