/** The two streams a command writes to, each with its own mind about colour and width. */

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

const codes: Readonly<Record<Style, readonly [number, number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
};

/** A place to write text. Never throws: a reader that went away (`| head`) ends the writing, not the work. */
export interface Sink {
  write(text: string): void;
  /** Writes the text and a line end. */
  line(text?: string): void;
  /** The text in the style, or as it is where colour is off. */
  paint(style: Style, text: string): string;
  /** True on a terminal that can move its cursor: live lines may be drawn. */
  readonly live: boolean;
  /** Width of the terminal; undefined when it is not one, or does not know its own: then nothing is cut. */
  readonly columns: number | undefined;
  /** Resolves when everything written has left this process. */
  flush(): Promise<void>;
}

/** What decides about colour; see `colored`. */
export interface ColorWishes {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `--no-color` was given. */
  readonly noColor: boolean;
}

/** Colour on a stream: `--no-color` beats `FORCE_COLOR` beats `NO_COLOR` (an empty one is none) beats `TERM=dumb` beats being a terminal. */
export function colored(isTerminal: boolean, wishes: ColorWishes): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = wishes.env;
  if (wishes.noColor) return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  return isTerminal && TERM !== 'dumb';
}

/** How a stream says that nobody reads it any more. */
const gone: readonly string[] = ['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED'];

/** A sink on a stream of the process. */
export function sinkOn(stream: NodeJS.WriteStream, wishes: ColorWishes): Sink {
  const terminal = stream.isTTY === true;
  const color = colored(terminal, wishes);
  let closed = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // Before it is told: that may be on this very stream.
    closed = true;
    if (!gone.includes(error.code ?? '')) throw error;
  });
  const write = (text: string) => {
    if (!closed) stream.write(text);
  };
  return {
    write,
    line: (text = '') => write(`${text}\n`),
    paint: (style, text) => {
      const [on, off] = codes[style];
      return color && text !== '' ? `\x1b[${on}m${text}\x1b[${off}m` : text;
    },
    live: terminal && wishes.env.TERM !== 'dumb',
    get columns() {
      return terminal && stream.columns > 0 ? stream.columns : undefined;
    },
    flush: () => new Promise((done) => (closed ? done() : stream.write('', () => done()))),
  };
}
