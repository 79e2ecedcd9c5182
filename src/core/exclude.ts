/** The setting `exclude`: streams that are left out, and single owners (`boards:7`). */

/** The ids of the owners of a stream that are left out: of `boards:7` the 7. */
export const leftOutOf = (exclude: readonly string[] | undefined, stream: string): readonly string[] =>
  (exclude ?? []).flatMap((entry) =>
    entry.startsWith(`${stream}:`) ? [entry.slice(stream.length + 1).trim()] : [],
  );
