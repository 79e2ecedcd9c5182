/** How values look to people: thousands separators, durations, relative times, and text of a source made harmless. */

/** C0, DEL, C1, bidirectional controls, line separators, invisible joiners, the byte order mark and lone surrogates. */
const hostile =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is the purpose
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const named: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Text of a source, safe to print: what could move the cursor, recolour or reorder the screen is written out, e.g. `\x1b`. */
export const escaped = (text: string): string =>
  text.replace(hostile, (found) => {
    const code = found.charCodeAt(0);
    return named[found] ?? (code < 256 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`);
  });

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');

/** `12,345`. Whole numbers by hand: the first use of `Intl` in a process takes 10 ms. */
export const count = (n: number | bigint): string =>
  Number.isInteger(Number(n))
    ? String(n).replace(/\B(?=(?:\d{3})+$)/g, ',')
    : new Intl.NumberFormat('en-US').format(n);

/** `1 row`, `2,000 rows` */
export const plural = (n: number, one: string, many = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : many}`;

/** `0.8 s` · `41 s` · `6 m 41 s` · `2 h 5 m` · `3 d 4 h` */
export function duration(seconds: number): string {
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const [big, unit, small, rest]: readonly [number, string, number, string] =
    whole < 3600 ? [60, 'm', 1, 's'] : whole < 86_400 ? [3600, 'h', 60, 'm'] : [86_400, 'd', 3600, 'h'];
  const left = Math.floor((whole % big) / small);
  return `${Math.floor(whole / big)} ${unit}${left === 0 ? '' : ` ${left} ${rest}`}`;
}

/** `just now` · `5 m ago` · `2 h ago` · `in 3 d`: one unit is enough at a glance, the exact instant is in `--json`. */
export function relative(then: Date, now: Date): string {
  const seconds = Math.round((now.getTime() - then.getTime()) / 1000);
  const size = Math.abs(seconds);
  if (size < 5) return 'just now';
  const [per, unit] =
    size < 60 ? [1, 's'] : size < 3600 ? [60, 'm'] : size < 172_800 ? [3600, 'h'] : [86_400, 'd'];
  const text = `${Math.floor(size / per)} ${unit}`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

/** `2026-11-21 02:00` (UTC) */
export const minute = (instant: Date): string => instant.toISOString().slice(0, 16).replace('T', ' ');

/** `02:00` if it is of today, else `2026-11-20 02:00` (UTC) */
export const clock = (instant: Date, now: Date): string =>
  minute(instant).slice(0, 10) === minute(now).slice(0, 10) ? minute(instant).slice(11) : minute(instant);

/** A message without credentials: the user part of any URL in it is masked, but for the one that says how a URL is written. */
export const withoutSecrets = (text: string): string =>
  text.replace(/([a-z][a-z0-9+.-]*:\/\/)(?!user:password@host:)[^\s/@:]*:\S*@/gi, '$1***@');
