/** The figures of the README, as the last bench wrote them into docs/performance.md. */

/** What the page says in this place. Throws where it does not say it: then the bench and this file must be brought together. */
const found = (page: string, place: RegExp): readonly string[] => {
  const [, ...parts] = place.exec(page) ?? [];
  if (parts.length === 0) throw new Error(`docs/performance.md has nothing like ${place}`);
  return parts;
};

const median = (list: string): string => {
  const sorted = list
    .split(', ')
    .map(Number)
    .sort((a, b) => a - b);
  return (sorted[Math.floor(sorted.length / 2)] ?? Number.NaN).toFixed(1);
};

/** The paragraph of the README, by the text of docs/performance.md. */
export function figuresText(performance: string): string {
  const [ratio] = found(performance, /^\| \(a\) first sync to raw `\\copy` of the same rows \| ([\d.]+) \|/m);
  const [issues] = found(performance, /^([\d,]+) issues of about /m);
  const [cores] = found(performance, /^Node [\d.]+, (\d+) cores/m);
  const [firsts = ''] = found(performance, /^- \(a\) first sync: ([\d., ]+) s/m);
  const [changed] = found(performance, /\(c\) after 1 % changed: ([\d.]+) s/);
  const [large, memory] = found(performance, /^\| \(e\) peak memory at (\d+) issues, MB \| ([\d.]+) \|/m);
  return `Tidemark's own figures, on ${cores} cores that it shares with simulator and Postgres: ${issues} issues with their history in
${median(firsts)} s, which is ${ratio} of the speed of a raw \`\\copy\` of the same rows; ${changed} s after 1 % of them changed; ${memory} MB of memory
with ${Number(large).toLocaleString('en')}.
`;
}

/** The README with these figures in place of those that it has. */
export function withFigures(readme: string, performance: string): string {
  const paragraph = /^Tidemark's own figures, [\s\S]*?\n(?=\[The bench\])/m;
  found(readme, new RegExp(`(${paragraph.source})`, 'm'));
  return readme.replace(paragraph, () => figuresText(performance));
}
