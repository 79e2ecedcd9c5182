import type { Schedule } from './pipeline.ts';

/** Every night, when people sleep and rate limits are free. */
export const everyNight: Schedule = { cron: '0 2 * * *', timeZone: 'UTC' };

/** With the first night of the week, for what walks everything. */
export const everySunday: Schedule = { cron: '0 0 * * 0', timeZone: 'UTC' };
