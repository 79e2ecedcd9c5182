/** SIGINT and SIGTERM: the first one asks for an orderly end, a second one or the end of the grace time ends at once. */
import { Interrupted } from '../core/errors.ts';
import { exit, type StopSignal } from './exit.ts';

export interface Signals {
  /** Aborted with `Interrupted` by the first signal. */
  readonly signal: AbortSignal;
  readonly received: () => StopSignal | undefined;
  /** Stops listening. */
  release(): void;
}

export interface SignalOptions {
  /** Called at the first signal. */
  readonly onFirst: (stop: StopSignal) => void;
  /** Ends the process now with this code. */
  readonly force: (code: number, why: string) => void;
  /** How long a command may take to end after the first signal, ms. */
  readonly graceMs: number;
  readonly process: Pick<NodeJS.EventEmitter, 'on' | 'off'>;
}

/** npm repeats a Ctrl-C that the terminal has already sent to every process: within this time it is the same request. */
const echoMs = 500;

export function listen({ onFirst, force, graceMs, process }: SignalOptions): Signals {
  const controller = new AbortController();
  let first: { readonly stop: StopSignal; readonly at: number } | undefined;
  let timer: NodeJS.Timeout | undefined;
  const on = (stop: StopSignal) => {
    if (first === undefined) {
      first = { stop, at: performance.now() };
      const late = () => force(exit[stop], `not finished ${graceMs / 1000} s after ${stop}`);
      timer = setTimeout(late, graceMs).unref();
      onFirst(stop);
      controller.abort(new Interrupted(`stopped by ${stop}`));
    } else if (performance.now() - first.at > echoMs) force(exit[stop], `second ${stop}`);
  };
  process.on('SIGINT', on).on('SIGTERM', on);
  return {
    signal: controller.signal,
    received: () => first?.stop,
    release: () => {
      clearTimeout(timer);
      process.off('SIGINT', on).off('SIGTERM', on);
    },
  };
}

/** Keeps the process alive until the signal. */
export function untilStopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const alive = setInterval(() => undefined, 2 ** 30);
    const end = () => {
      clearInterval(alive);
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}
