/** The word that was probably meant: at most a third of it differs. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const [best] = known
    .map((each) => ({ each, far: distance(word.toLowerCase(), each.toLowerCase()) }))
    .filter(({ each, far }) => far <= Math.max(1, Math.floor(Math.max(word.length, each.length) / 3)))
    .sort((a, b) => a.far - b.far);
  return best?.each;
}

/** What is said of a name that no stream has. `names`: what could have been meant; `streams`: those that there are. */
export function noStream(name: string, names: readonly string[], streams: readonly string[]): string {
  const near = nearest(name, names);
  return `there is no stream “${name}”${near === undefined ? '' : ` (did you mean ${near}?)`}; there are ${streams.join(', ')}`;
}

/** Letters to add, drop, change or swap with their neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  const cell = (row: number, column: number): number => rows[row]?.[column] ?? 0;
  for (let i = 1; i <= a.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const least = Math.min(cell(i - 1, j) + 1, cell(i, j - 1) + 1, cell(i - 1, j - 1) + same);
      rows[i]?.push(swapped ? Math.min(least, cell(i - 2, j - 2) + 1) : least);
    }
  }
  return cell(a.length, b.length);
}
