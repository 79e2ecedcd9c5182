/** Bodies of requests: one JSON document, or nothing. */

import { isUtf8 } from 'node:buffer';
import type { FastifyInstance } from 'fastify';
import { Rejected } from './envelope.ts';

/** No body that means something here is larger. */
export const mostBytes = 64 * 1024;

/** Reads `application/json`; an empty body is no body, whatever type it is said to have. Any other one is refused with 415. */
export function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: mostBytes },
    async (_request: unknown, body: Buffer) => parsed(body),
  );
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: mostBytes },
    async (_request: unknown, body: Buffer) => {
      if (body.length > 0) throw new Rejected(415, 'the body must be application/json');
      return undefined;
    },
  );
}

function parsed(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  if (!isUtf8(body)) throw new Rejected(400, 'the body is not valid UTF-8');
  const text = body.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Rejected(400, 'the body is not one JSON document');
  }
  // Two readers may disagree about which of them counts.
  if (hasTwins(text)) throw new Rejected(400, 'the body has the same field twice');
  return value;
}

/** Whether a field name occurs twice anywhere in a valid JSON document: ours are flat. */
function hasTwins(text: string): boolean {
  const seen = new Set<unknown>();
  for (const [, name, colon] of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?/g)) {
    if (name === undefined || colon === undefined) continue;
    const field: unknown = JSON.parse(name);
    if (seen.has(field)) return true;
    seen.add(field);
  }
  return false;
}
