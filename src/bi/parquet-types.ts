/** How values of Postgres are kept in Parquet: exactly, or as text. */
import type { SchemaElement } from 'hyparquet-writer';

export type ParquetValue = boolean | number | bigint | string;

/** How the values of a type are kept. */
export interface Encoding {
  readonly element: Omit<SchemaElement, 'name' | 'repetition_type'>;
  /** What to select of a column. */
  readonly select: (column: string) => string;
  /** From the text that Postgres writes of it. */
  readonly parse: (text: string) => ParquetValue;
  /** Of integers and decimals, which are kept as integers: digits after the point. */
  readonly scale?: number;
}

const itself = (column: string): string => column;
const integer: Encoding = { element: { type: 'INT32' }, select: itself, parse: Number };
const double: Encoding = { element: { type: 'DOUBLE' }, select: itself, parse: Number };
const text: Encoding = {
  element: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  select: (column) => `${column}::text`,
  parse: String,
};

const encodings: Readonly<Record<string, Encoding>> = {
  boolean: { element: { type: 'BOOLEAN' }, select: itself, parse: (value) => value === 't' },
  smallint: integer,
  integer,
  bigint: { element: { type: 'INT64' }, select: itself, parse: BigInt, scale: 0 },
  real: double,
  'double precision': double,
  date: {
    element: { type: 'INT32', converted_type: 'DATE', logical_type: { type: 'DATE' } },
    select: (column) => `${column} - date '1970-01-01'`,
    parse: Number,
  },
  'timestamp with time zone': {
    element: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MICROS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
    },
    select: (column) => `(extract(epoch from ${column}) * 1000000)::bigint`,
    parse: BigInt,
  },
};

/** By the type as `format_type` names it. Whatever Parquet has no exact type for is text. */
export function encodingOf(type: string): Encoding {
  const [, precision = 99, scale = 0] = /^numeric\((\d+),(\d+)\)$/.exec(type)?.map(Number) ?? [];
  return precision > 38 ? (encodings[type] ?? text) : decimal(precision, scale);
}

function decimal(precision: number, scale: number): Encoding {
  const logical = { type: 'DECIMAL', precision, scale } as const;
  const element = { converted_type: 'DECIMAL', precision, scale, logical_type: logical } as const;
  // Postgres writes every digit of the scale.
  const parse = (value: string): bigint => BigInt(value.replace('.', ''));
  const kept = { select: itself, parse, scale };
  if (precision <= 9) return { element: { type: 'INT32', ...element }, ...kept };
  if (precision <= 18) return { element: { type: 'INT64', ...element }, ...kept };
  return { element: { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, ...element }, ...kept };
}

/** A decimal kept as an integer, as Postgres writes it. */
export function decimalOf(value: bigint, scale: number): string {
  const digits = String(value)
    .replace('-', '')
    .padStart(scale + 1, '0');
  const fraction = scale === 0 ? '' : `.${digits.slice(-scale)}`;
  return `${value < 0n ? '-' : ''}${digits.slice(0, digits.length - scale)}${fraction}`;
}
