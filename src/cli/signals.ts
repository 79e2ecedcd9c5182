/** Ctrl-C and SIGTERM: the first asks, the second insists, and time limits the asking. */
import { Interrupted } from '../core/errors.ts';
import { exit } from './exit.ts';

export type Stop = 'SIGINT' | 'SIGTERM';

export interface Stopping {
  /** Aborted with `Interrupted` by the first signal. */
  readonly signal: AbortSignal;
  /** The signal that was received, if one was. */
  readonly received: () => Stop | undefined;
  /** Stops listening and watching the time. */
  release(): void;
}

export interface StoppingOptions {
  /** Told once, when the first signal arrives. */
  readonly asked: (stop: Stop) => void;
  /** Ends the process now with this code, leaving as little behind as can be done without waiting. */
  readonly force: (code: number, why: string) => void;
  /** How long a command may take to end after the first signal, ms. */
  readonly graceMs: number;
  readonly process: Pick<NodeJS.EventEmitter, 'on' | 'off'>;
}

/**
 * npm and npx pass on a Ctrl-C that the terminal has already sent to everyone: the same request twice, a few milliseconds apart.
 * Only a later one is a second request.
 */
const echoMs = 500;

/** Listens until released. */
export function stopping(options: StoppingOptions): Stopping {
  const controller = new AbortController();
  let first: { readonly stop: Stop; readonly at: number } | undefined;
  let timer: NodeJS.Timeout | undefined;
  const on = (stop: Stop) => {
    if (first === undefined) {
      first = { stop, at: performance.now() };
      timer = setTimeout(
        () => options.force(exit[stop], `not finished ${options.graceMs / 1000} s after ${stop}`),
        options.graceMs,
      ).unref();
      options.asked(stop);
      controller.abort(new Interrupted(`stopped by ${stop}`));
    } else if (performance.now() - first.at > echoMs) options.force(exit[stop], `second ${stop}`);
  };
  const interrupt = () => on('SIGINT');
  const terminate = () => on('SIGTERM');
  options.process.on('SIGINT', interrupt).on('SIGTERM', terminate);
  return {
    signal: controller.signal,
    received: () => first?.stop,
    release: () => {
      clearTimeout(timer);
      options.process.off('SIGINT', interrupt).off('SIGTERM', terminate);
    },
  };
}
