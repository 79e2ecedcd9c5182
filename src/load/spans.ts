/** Where rows lie in a batch's bytes: plain numbers, because a batch has tens of thousands of them. */

/** Spans in the order they were added, by number. */
export interface Spans {
  readonly length: number;
  add(table: number, from: number, to: number): void;
  /** Forgets everything from the `length`-th on. */
  rewind(length: number): void;
  /** The table (0 is the flow's own, i + 1 its i-th child) of the `i`-th span. */
  table(i: number): number;
  /** Its first byte. */
  from(i: number): number;
  /** The place behind its last byte. */
  to(i: number): number;
}

/** No spans yet. */
export function newSpans(): Spans {
  let data = new Int32Array(3 << 10);
  let length = 0;
  const at = (place: number): number => data[place] ?? 0;
  return {
    get length() {
      return length;
    },
    add(table, from, to) {
      const place = length * 3;
      if (place + 3 > data.length) {
        const grown = new Int32Array(data.length * 2);
        grown.set(data);
        data = grown;
      }
      data[place] = table;
      data[place + 1] = from;
      data[place + 2] = to;
      length += 1;
    },
    rewind(to) {
      length = to;
    },
    table: (i) => at(i * 3),
    from: (i) => at(i * 3 + 1),
    to: (i) => at(i * 3 + 2),
  };
}
