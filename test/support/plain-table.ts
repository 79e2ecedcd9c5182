import type { Row, Table } from '../../src/core/table.ts';

/** A table of a test, given by what the loader must know of it. */
export const plainTable = <R extends Row>(spec: Table<R>): Table<R> => spec;
