/** Finds the number literals of a JSON document that a double cannot hold, without parsing the rest. */

/** 1 for the bytes a number is made of: 0-9 . e E + - */
const inNumber = new Uint8Array(256);
for (const char of '0123456789.eE+-') inNumber[char.charCodeAt(0)] = 1;
/** 1 for the bytes that may stand beside a number. */
const beside = new Uint8Array(256);
for (const char of ',:[]{} \t\r\n') beside[char.charCodeAt(0)] = 1;

/** A literal of fewer bytes has at most 15 digits, and those a double keeps, unless its exponent has three digits or more. */
const stride = 16;
/** Such exponents. V8 skips through the text looking for these, at a tenth of what parsing it costs. */
const longExponent = /[0-9][eE][-+]?[0-9]{3}[0-9]*(?:[\s,}\]]|$)/;

/**
 * Whether the document (its bytes, and the same as text) may hold a number that a double cannot. Never misses one; may be wrong the other
 * way where a string's text looks like such a number. Looks at every sixteenth byte, and around those that could belong to a number.
 */
export const suspicious = (bytes: Uint8Array, text: string): boolean => {
  for (let at = stride - 1; at < bytes.length; at += stride) {
    if (inNumber[bytes[at] ?? 0] === 0) continue;
    let start = at;
    while (start > 0 && inNumber[bytes[start - 1] ?? 0] === 1) start--;
    let end = at + 1;
    while (end < bytes.length && inNumber[bytes[end] ?? 0] === 1) end++;
    if (stands(bytes, start, end) && isLossy(ascii(bytes, start, end))) return true;
    // The rest of this run has been judged.
    at = end - 1 - ((end - 1 - at) % stride);
  }
  return longExponent.test(text);
};

/** Long enough, and between bytes that may stand beside a number: quoted ids and the dates in texts do not. */
const stands = (bytes: Uint8Array, start: number, end: number): boolean =>
  end - start >= stride &&
  (start === 0 || beside[bytes[start - 1] ?? 0] === 1) &&
  (end === bytes.length || beside[bytes[end] ?? 0] === 1);

const ascii = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1');

const literal = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Whether a number literal, read as a double and written again, is another number. Text that is no number literal is not lossy. */
export const isLossy = (text: string): boolean => {
  if (text.length < stride && !/[eE][-+]?\d{3}/.test(text)) return false;
  const written = decimal(text);
  if (written === undefined) return false;
  const kept = decimal(String(Math.abs(Number(text))));
  return kept === undefined || kept.digits !== written.digits || kept.power !== written.power;
};

/** digits × 10^power, with no zeros at either end of `digits`; zero is '' × 10^0. The sign is left out: a double keeps it. */
const decimal = (text: string): { readonly digits: string; readonly power: number } | undefined => {
  const [whole, fraction = '', exponent = '0'] = literal.exec(text)?.slice(1) ?? [];
  if (whole === undefined) return undefined;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = withoutZeros(digits);
  if (significant === '') return { digits: '', power: 0 };
  return {
    digits: significant,
    power: Number(exponent) - fraction.length + digits.length - significant.length,
  };
};

/** Not `/0+$/`: that is quadratic in a long number with many inner zeros. */
const withoutZeros = (digits: string): string => {
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 0x30) end--;
  return digits.slice(0, end);
};
