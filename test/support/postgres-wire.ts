/** What goes over a wire between a client and Postgres: messages, and which of them may leave something behind. */

/** A message of the client. */
export interface Message {
  /** The type byte; undefined for what comes before the start-up is over. */
  readonly kind: string | undefined;
  readonly length: number;
  /** True for the message after which all have a type byte. */
  readonly starts: boolean;
  /** Everything behind the length. */
  readonly body: Buffer;
}

/** Codes in the place of a protocol version: they ask for TLS or GSS, and the real start-up follows. */
const asksFirst = new Set([80_877_103, 80_877_104]);

/** The first message, if all of it is there. */
export function firstMessage(bytes: Buffer, started: boolean): Message | undefined {
  const at = started ? 1 : 0;
  if (bytes.length < at + 8 && (!started || bytes.length < at + 4)) return undefined;
  const length = at + bytes.readInt32BE(at);
  if (bytes.length < length) return undefined;
  const body = bytes.subarray(at + 4, length);
  if (started) return { kind: String.fromCharCode(bytes[0] ?? 0), length, starts: false, body };
  return { kind: undefined, length, starts: !asksFirst.has(bytes.readInt32BE(4)), body };
}

/** One connection, listened to from both ends. */
export interface Ear {
  /** What a message of the client counts as; undefined where it does not count. */
  hear(message: Message): string | undefined;
  /** Bytes of the server. */
  answered(bytes: Buffer): void;
}

/**
 * Messages upon which a server acts, or that end a session. Parse, Bind, Describe and Execute are not among them: what they do is not
 * committed before the Sync that follows them.
 */
const acting: Readonly<Record<string, string>> = {
  Q: 'query',
  S: 'sync',
  d: 'copy data',
  c: 'copy done',
  f: 'copy fail',
  X: 'terminate',
  p: 'password',
};

/** Counts every message upon which the server acts. */
export const everyAct = (): Ear => ({
  hear: ({ kind }) => (kind === undefined ? 'start' : acting[kind]),
  answered: () => undefined,
});

/** Changes nothing that outlives the session. */
const harmless =
  /^\s*(select|show|set|begin|rollback|start transaction)\b(?!.*\b(insert|update|delete|nextval)\b)/is;
const ends = /^\s*commit\b/i;

/**
 * Counts the messages between which the warehouse can differ: what commits (COMMIT, and each statement outside a transaction that may write),
 * and in each transaction one write and one COPY under way. Killed at any other message, a run leaves what it leaves at one of these: what is
 * not committed never was.
 */
export function everyChange(): Ear {
  const status = transactionStatus();
  let text = '';
  let seen = new Set<string>();
  const once = (label: string): string | undefined => {
    if (seen.has(label)) return undefined;
    seen.add(label);
    return label;
  };
  const statement = (): string | undefined => {
    if (ends.test(text)) return 'commit';
    if (harmless.test(text)) return undefined;
    return status.inside ? once('write') : 'change';
  };
  return {
    hear({ kind, body }) {
      if (kind === undefined) return 'start';
      if (!status.inside) seen = new Set();
      if (kind === 'P') text = textOf(body.subarray(body.indexOf(0) + 1));
      else if (kind === 'Q') text = textOf(body);
      if (kind === 'Q' || kind === 'S') return statement();
      if (kind === 'd') return once('copy data');
      return kind === 'X' ? 'terminate' : undefined;
    },
    answered: status.read,
  };
}

const textOf = (bytes: Buffer): string => bytes.toString('utf8', 0, Math.max(0, bytes.indexOf(0)));

/** Whether the server is inside a transaction, as its last ReadyForQuery said. */
function transactionStatus(): { readonly inside: boolean; read(bytes: Buffer): void } {
  let inside = false;
  let waiting = Buffer.alloc(0);
  let skip = 0;
  return {
    get inside() {
      return inside;
    },
    read(bytes) {
      if (skip >= bytes.length) {
        skip -= bytes.length;
        return;
      }
      waiting = Buffer.concat([waiting, bytes.subarray(skip)]);
      skip = 0;
      while (waiting.length >= 6) {
        const length = 1 + waiting.readInt32BE(1);
        if (waiting[0] === 'Z'.charCodeAt(0)) inside = waiting[5] !== 'I'.charCodeAt(0);
        skip = Math.max(0, length - waiting.length);
        waiting = waiting.subarray(Math.min(length, waiting.length));
      }
    },
  };
}
