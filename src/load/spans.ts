/** Where rows lie in a batch's bytes: plain numbers, because a batch has tens of thousands of them. */

/** Spans in the order they were added, by number. */
export interface Spans {
  readonly length: number;
  add(table: number, from: number, to: number): void;
  /** Forgets everything from the `length`-th on. */
  rewind(length: number): void;
  /**
   * Three numbers a span: the table (0 is the flow's own, i + 1 its i-th child), its first byte, the place behind its last one. Valid until
   * the next `add`.
   */
  readonly numbers: Int32Array;
}

/** No spans yet. */
export function newSpans(): Spans {
  let data = new Int32Array(3 << 10);
  let length = 0;
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
    get numbers() {
      return data;
    },
  };
}
