/** The value below which a share of all lies, between the two nearest where it falls between them; undefined of nothing. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const low = sorted[Math.floor(place)];
  const high = sorted[Math.ceil(place)];
  return low === undefined || high === undefined
    ? undefined
    : low + (high - low) * (place - Math.floor(place));
}
