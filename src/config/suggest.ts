/** `; did you mean …?` where one of the words is close, else all of them. */
export function didYouMean(word: string, words: readonly string[]): string {
  const close = words.map((each) => [distance(word.toLowerCase(), each.toLowerCase()), each] as const);
  const [best] = close.sort(([a], [b]) => a - b);
  const isClose = best !== undefined && best[0] <= Math.max(2, word.length / 3);
  return isClose ? `; did you mean ${best[1]}?` : `; there are ${words.join(', ')}`;
}

/** How many letters are to be put in, taken out or replaced (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const left = next[j] ?? 0;
      const above = row[j + 1] ?? 0;
      const corner = row[j] ?? 0;
      next.push(Math.min(left + 1, above + 1, corner + Number(letter !== other)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
