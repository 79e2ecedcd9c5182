/** The transforms of the ads platform's reports. Each throws `BadData` for a record that cannot become rows. */
export { csvRow, RAGGED } from './transform/csv.ts';
export { dailyRow, hourlyRow, insight, lifetimeRow } from './transform/reports.ts';
