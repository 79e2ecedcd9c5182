/** Which columns a CSV report of the ads platform must have, and which of its lines are rows that were asked for. */

import { UnexpectedContent } from '../../../core/errors.ts';
import { isEmpty, type Line } from '../../../reading/csv/lines.ts';
import { columnName, columnsOf } from '../../../reading/csv/records.ts';
import { csvDimensions, csvRequired } from './fields.ts';

/** The vendor shows no header of a daily report; these are the names that such a column has. */
export const dayNames = ['DAY', 'DATE', 'DATE_DAY', 'REPORT_DATE', 'START_DATE', 'START_TIME'] as const;

/** Other names of a column: those of aggregate reports. */
const aliases: Readonly<Record<string, string>> = {
  AD_ACCOUNT_CURRENCY: 'CURRENCY',
  IMPRESSIONS_ON_SPOTIFY: 'IMPRESSIONS',
  IMPRESSIONS_OFF_SPOTIFY: 'OFF_SPOTIFY_IMPRESSIONS',
  PLAYED_TO_25: 'FIRST_QUARTILES',
  PLAYED_TO_50: 'MIDPOINTS',
  PLAYED_TO_75: 'THIRD_QUARTILES',
  AD_COMPLETES: 'COMPLETES',
  CPCL: 'E_CPCL',
  LISTENER_CONVERSION_RATE: 'CONVERSION_RATE',
  AVG_STREAMS_PER_LISTENER: 'STREAMS_PER_USER',
  AVG_STREAMS_PER_NEW_LISTENER: 'STREAMS_PER_NEW_LISTENER',
};

const required: ReadonlySet<string> = new Set(csvRequired);

/** The places of the columns that lines are judged by. */
export interface Columns {
  readonly width: number;
  readonly day: number;
  /** Those of the dimensions that the report has. */
  readonly dimensions: readonly number[];
  /** Names of an entity, from the highest level to the lowest. */
  readonly names: readonly number[];
  /** What was asked for and is not there. */
  readonly absent: readonly string[];
}

/**
 * Throws `UnexpectedContent` where a required column is missing, there is no column for the day or more than one, or two columns have one name.
 */
export const readColumns = (what: string, header: readonly string[], asked: readonly string[]): Columns => {
  const places = columnsOf(what, header);
  const placeOf = (name: string): number | undefined => places.get(name) ?? places.get(aliases[name] ?? '');
  const absent = asked.filter((name) => placeOf(name) === undefined);
  const missing = absent.filter((name) => required.has(name));
  const dayPlaces = dayNames.flatMap((name) => places.get(name) ?? []);
  const [day, otherDay] = dayPlaces;
  if (day === undefined || missing.length > 0) {
    const lost = [...(day === undefined ? ['a column for the day'] : []), ...missing].join(', ');
    throw new UnexpectedContent(`${what}: the report has no ${lost}; its columns are ${shown(header)}`);
  }
  if (otherDay !== undefined)
    throw new UnexpectedContent(
      `${what}: the report has two columns for the day, ${header[day]} and ${header[otherDay]}`,
    );
  return {
    width: header.length,
    day,
    dimensions: csvDimensions.flatMap((name) => placeOf(name) ?? []),
    names: ['CAMPAIGN_NAME', 'AD_SET_NAME', 'AD_NAME'].flatMap((name) => placeOf(name) ?? []),
    absent,
  };
};

const shown = (header: readonly string[]): string => {
  const names = header.slice(0, 20).map((name) => columnName(name).slice(0, 40));
  return header.length > names.length
    ? `${names.join(', ')} and ${header.length - names.length} more`
    : names.join(', ');
};

/**
 * row: to be loaded, or rejected by the transform · behind: of the day after the last one, which a server adds that takes an end otherwise ·
 * outside: of another day that was not asked for · footer: sums · nothing: an empty line
 */
export type Kind = 'row' | 'behind' | 'outside' | 'footer' | 'nothing';

/**
 * Judges lines. A footer names no day, and nothing in its dimensions but `Total` or the like. A line with another number of cells that begins
 * so is one if it is the file's last. `days`: half-open, as `2024-01-23`.
 */
export const judgeLines = (
  { width, day, dimensions }: Columns,
  days: { readonly from: string; readonly to: string },
): ((line: Line, isLast: boolean) => Kind) => {
  return (line, isLast) => {
    const { cells } = line;
    if (cells === undefined) return 'row';
    if (cells.length !== width) {
      if (isEmpty(line)) return 'nothing';
      return isLast && isTotal(cells[0]) ? 'footer' : 'row';
    }
    const cell = cells[day] ?? '';
    const text = cell.length === 10 ? cell : cell.slice(0, 10);
    if (text >= days.from && text < days.to) return 'row';
    if (isoDay.test(text)) return text === days.to ? 'behind' : 'outside';
    if (!isBlankOrTotal(cell)) return 'row';
    return dimensions.every((place) => isBlankOrTotal(cells[place] ?? '')) ? 'footer' : 'row';
  };
};

/** Whether a line with other cells than the header, behind which its file ends, is a sum: a lone `Total` may be how a name begins. */
export const isShortTotal = (cells: readonly string[]): boolean => cells.length > 1 && isTotal(cells[0]);

const isoDay = /^\d{4}-\d{2}-\d{2}$/;

const isTotal = (cell = ''): boolean => /^\s*(grand |sub)?-?totals?\s*:?\s*$/i.test(cell);
const isBlankOrTotal = (cell: string): boolean => cell.trim() === '' || isTotal(cell);
