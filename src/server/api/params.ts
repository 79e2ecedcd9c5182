/** `params` of a start: `FROM=2024-01-01 TO=2024-02-01 STREAMS=issues,projects FULL=true` (contract, section 2). */

import { parseInstant } from '../../config/values.ts';
import { Misconfigured } from '../../core/errors.ts';
import type { Ask } from '../../scheduler/control.ts';

const names = ['FROM', 'TO', 'STREAMS', 'FULL', 'DOES'] as const;
type Name = (typeof names)[number];

/** `NAME=value`, `NAME="a value"` (with \" and \\ for themselves) or `NAME='a value'`. */
const pair =
  /^(?<name>[^\s=]+)=(?:"(?<double>(?:[^"\\]|\\["\\])*)"|'(?<single>[^']*)'|(?<bare>[^\s"']*))(?=\s|$)/;

/** What is asked for, apart from the pipeline. Throws Misconfigured, which names what is unknown or malformed. */
export function askOfParams(pipeline: string, params: string): Ask {
  const given = pairsOf(params);
  const streams = given.get('STREAMS')?.split(',');
  if (streams?.some((name) => !/^[a-z][a-z0-9_]{0,62}$/.test(name)))
    throw new Misconfigured('STREAMS: give names with commas between them, such as issues,projects');
  const window = windowOf(given);
  return {
    pipeline,
    does: doesOf(given, window !== undefined),
    ...(streams === undefined ? {} : { streams }),
    ...(window === undefined ? {} : { window }),
  };
}

function pairsOf(params: string): ReadonlyMap<Name, string> {
  const found = new Map<Name, string>();
  for (let rest = params.trim(); rest !== ''; ) {
    const match = pair.exec(rest);
    const { name: text = '', double, single, bare } = match?.groups ?? {};
    if (match === null) throw new Misconfigured(`params: ${shown(rest)} is not NAME=value`);
    const name = names.find((each) => each === text);
    if (name === undefined)
      throw new Misconfigured(`params: ${shown(text)} is unknown; there are ${names.join(', ')}`);
    if (found.has(name)) throw new Misconfigured(`params: ${name} is given twice`);
    const value = double?.replaceAll(/\\(["\\])/g, '$1') ?? single ?? bare ?? '';
    if (value === '') throw new Misconfigured(`params: ${name} has no value`);
    found.set(name, value);
    rest = rest.slice(match[0].length).trimStart();
  }
  return found;
}

function windowOf(given: ReadonlyMap<Name, string>): Ask['window'] {
  const [from, to] = [given.get('FROM'), given.get('TO')];
  if (from === undefined && to === undefined) return undefined;
  if (from === undefined || to === undefined)
    throw new Misconfigured(`params: ${from === undefined ? 'FROM' : 'TO'} is missing`);
  return { from: instant('FROM', from), to: instant('TO', to) };
}

function instant(name: Name, text: string): Date {
  const found = parseInstant(text);
  if (found === undefined)
    throw new Misconfigured(
      `params: ${name}=${shown(text)} is not a date; write 2024-01-31 (midnight UTC) or 2024-01-31T08:00:00Z`,
    );
  return found;
}

function doesOf(given: ReadonlyMap<Name, string>, isBackfill: boolean): Ask['does'] {
  const full = given.get('FULL') ?? 'false';
  if (full !== 'true' && full !== 'false')
    throw new Misconfigured(`params: FULL=${shown(full)} is neither true nor false`);
  const wished = given.get('DOES');
  if (wished !== undefined && !isDoes(wished))
    throw new Misconfigured(`params: DOES=${shown(wished)} is none of ${kinds.join(', ')}`);
  const does = wished ?? (isBackfill ? 'backfill' : full === 'true' ? 'full' : 'sync');
  if (full === 'true' && does !== 'full')
    throw new Misconfigured(`params: FULL=true does not go with a ${does}`);
  return does;
}

const kinds = ['sync', 'full', 'reconcile', 'backfill'] as const;
const isDoes = (text: string): text is Ask['does'] => kinds.some((each) => each === text);

/** Quoted, short, with control characters written out. */
const shown = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
