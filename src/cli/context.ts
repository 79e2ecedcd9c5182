/** What a command is given: the parts of the program, the streams it writes to, and questions at a terminal. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { styleText } from 'node:util';
import { Interrupted } from '../core/errors.ts';
import type { Parts } from '../runs/assemble.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM';

/** What every verb gets. */
export interface Context {
  readonly parts: Parts;
  /** Data. */
  readonly out: Sink;
  /** Talk. */
  readonly err: Sink;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** Talk on stderr; silent with `--quiet` and `--json`. */
  readonly say: (text: string) => void;
  /** A warning on stderr, never silent; with `--verbose` also the causes of the error. */
  readonly warn: (text: string, error?: unknown) => void;
  readonly signal: AbortSignal;
  /** The signal that asked to stop, if one did. */
  readonly received: () => StopSignal | undefined;
  readonly version: string;
  readonly host: Pick<NodeJS.Process, 'env' | 'cwd'>;
  /** The answer of the user; hidden: it is not shown while it is typed. Absent without a terminal and with `--json`. */
  readonly ask?: (question: string, isHidden: boolean) => Promise<string>;
}

/** A verb does its work and returns the exit code; it throws what goes wrong. */
export type Verb<Options = object> = (context: Context, options: Options) => Promise<number>;

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Where text is written to. Never throws: a reader that closed the pipe (`| head`) ends the writing, not the work. */
export interface Sink {
  write(text: string): void;
  /** Writes the text and a line end. */
  line(text?: string): void;
  /** The text in the style, or unchanged where colour is off. */
  paint(style: Style, text: string): string;
  /** True on a terminal that can move its cursor. */
  readonly live: boolean;
  /** Width of the terminal; undefined where it is none or unknown: then nothing is cut. */
  readonly columns: number | undefined;
  readonly stream: NodeJS.WritableStream;
  /** Resolves when everything written has left this process. */
  flush(): Promise<void>;
}

/** Environment, and whether `--no-color` was given. */
type ColorOptions = { readonly env: NodeJS.ProcessEnv; readonly noColor: boolean };

/** `--no-color` beats FORCE_COLOR, which beats NO_COLOR, which beats TERM=dumb, which beats being a terminal. Empty is unset. */
export function hasColor(isTerminal: boolean, { env, noColor }: ColorOptions): boolean {
  if (noColor) return false;
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false';
  return !env.NO_COLOR && isTerminal && env.TERM !== 'dumb';
}

/** Error codes of a stream whose reader is gone. */
const closedCodes: readonly unknown[] = ['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED'];

/** A sink on a stream of the process. */
export function openSink(stream: NodeJS.WriteStream, options: ColorOptions): Sink {
  const isTerminal = stream.isTTY === true;
  const color = hasColor(isTerminal, options);
  let isClosed = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    isClosed = true;
    if (!closedCodes.includes(error.code)) throw error;
  });
  const write = (text: string) => void (isClosed || stream.write(text));
  return {
    write,
    line: (text = '') => write(`${text}\n`),
    paint: (style, text) => (color ? styleText(style, text, { validateStream: false }) : text),
    live: isTerminal && options.env.TERM !== 'dumb',
    get columns() {
      return isTerminal && stream.columns > 0 ? stream.columns : undefined;
    },
    stream,
    flush: () => new Promise((resolve) => (isClosed ? resolve() : stream.write('', () => resolve()))),
  };
}

/** Keeps the process alive until the signal. */
export async function untilStopped(signal: AbortSignal): Promise<void> {
  const alive = setInterval(() => undefined, 2 ** 30);
  if (!signal.aborted) await once(signal, 'abort');
  clearInterval(alive);
}

/** Asks questions at a terminal; a hidden answer is not shown while it is typed. Throws Interrupted at the end of the input. */
export const questions =
  (input: NodeJS.ReadStream, err: Sink, signal: AbortSignal) =>
  async (question: string, isHidden: boolean): Promise<string> => {
    err.write(question);
    // A terminal itself shows what is typed, unless readline takes that over. It shows nothing: it has no output.
    const lines = createInterface({ input, terminal: isHidden, signal });
    const [line]: string[] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
    lines.close();
    if (isHidden) err.line();
    if (line === undefined) throw new Interrupted('a question was not answered');
    return line.trim();
  };
