import pg from 'pg';

/**
 * How values come out of Postgres: exactly, or not as numbers at all.
 * bigint and numeric: text · timestamptz: Date (its microseconds cut to milliseconds; read `::text` where they matter) ·
 * date, timestamp, time, interval: text as Postgres writes it, never shifted into a local time zone · json, jsonb: parsed.
 */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (format !== 'binary' && asText.has(oid)) return (value: string) => value;
    return pg.types.getTypeParser(oid, format);
  },
};

const { DATE, TIMESTAMP, TIME, TIMETZ, INTERVAL, INT8, NUMERIC } = pg.types.builtins;
const asText: ReadonlySet<number> = new Set([DATE, TIMESTAMP, TIME, TIMETZ, INTERVAL, INT8, NUMERIC]);
