/**
 * `params` of a start: `FROM=2024-01-01 TO=2024-02-01 STREAMS=issues,projects FULL=true` (contract, section
 * 2).
 */

import { z } from 'zod';
import { anyInstant, oneOf, value } from '../../config/values.ts';
import { Misconfigured } from '../../core/errors.ts';
import type { Ask } from '../../scheduler/control.ts';
import { problem } from './route.ts';

const streamList = /^[a-z][a-z0-9_]{0,62}(,[a-z][a-z0-9_]{0,62})*$/;
const streams = value(
  (text) => (streamList.test(text) ? text.split(',') : undefined),
  'must be names with commas between them, such as issues,projects',
);

const values = z.object({
  FROM: anyInstant.optional(),
  TO: anyInstant.optional(),
  STREAMS: streams.optional(),
  FULL: oneOf('true', 'false').default('false'),
  DOES: oneOf('sync', 'full', 'reconcile', 'backfill').optional(),
});

const names: readonly string[] = Object.keys(values.shape);

/** `NAME=value`, `NAME="a value"` (with \" and \\ as escapes) or `NAME='a value'`. */
const pair =
  /^(?<name>[^\s=]+)=(?:"(?<double>(?:[^"\\]|\\["\\])*)"|'(?<single>[^']*)'|(?<bare>[^\s"']*))(?=\s|$)/;

/** The request that params describe. Throws Misconfigured, which names what is unknown or malformed. */
export function askOfParams(pipeline: string, params: string): Ask {
  const found = values.safeParse(pairsOf(params));
  if (!found.success) throw new Misconfigured(`params: ${problem(found.error)}`);
  const { FROM: from, TO: to, STREAMS: named, FULL: full, DOES: wanted } = found.data;
  if ((from === undefined) !== (to === undefined))
    throw new Misconfigured(`params: ${from === undefined ? 'FROM' : 'TO'} is missing`);
  const window = from === undefined || to === undefined ? undefined : { from, to };
  const does = wanted ?? (window !== undefined ? 'backfill' : full === 'true' ? 'full' : 'sync');
  if (full === 'true' && does !== 'full')
    throw new Misconfigured(`params: FULL=true does not go with a ${does}`);
  return { pipeline, does, ...(named && { streams: named }), ...(window && { window }) };
}

function pairsOf(params: string): Readonly<Record<string, string>> {
  const found = new Map<string, string>();
  for (let rest = params.trim(); rest !== ''; ) {
    const match = pair.exec(rest);
    if (match === null) throw new Misconfigured(`params: ${shown(rest)} is not NAME=value`);
    const { name = '', double, single, bare } = match.groups ?? {};
    if (!names.includes(name))
      throw new Misconfigured(`params: ${shown(name)} is unknown; there are ${names.join(', ')}`);
    if (found.has(name)) throw new Misconfigured(`params: ${name} is given twice`);
    const text = double?.replaceAll(/\\(["\\])/g, '$1') ?? single ?? bare ?? '';
    if (text === '') throw new Misconfigured(`params: ${name} has no value`);
    found.set(name, text);
    rest = rest.slice(match[0].length).trimStart();
  }
  return Object.fromEntries(found);
}

/** Quoted, short, with control characters written out. */
const shown = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
