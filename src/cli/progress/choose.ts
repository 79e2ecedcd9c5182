/** Which of the three ways of telling is used: never two at once. */
import type { Observe } from '../../core/run.ts';
import type { Sink } from '../terminal.ts';
import { json as ndjson } from './json.ts';
import { live } from './live.ts';
import { plain } from './plain.ts';
import type { Progress } from './types.ts';

export interface Telling {
  readonly out: Sink;
  readonly err: Sink;
  readonly json: boolean;
  readonly quiet: boolean;
  /** A log is written to the same stream: a moving display would be torn by it. */
  readonly logging: boolean;
  /** Leaves out the lines of streams that ended well or that the source does not have. */
  readonly brief?: boolean;
}

/** NDJSON on stdout; nothing; a live display on a terminal; lines elsewhere. */
export function progress({ out, err, json, quiet, logging, brief }: Telling): Progress {
  if (json) return silent(ndjson(out));
  if (quiet)
    return silent((event) => {
      if (event.type === 'note' && event.level === 'warn') err.line(`warning: ${event.message}`);
    });
  return err.live && !logging ? live(err, brief) : plain(err, brief);
}

const silent = (observe: Observe): Progress => ({ observe, say: () => undefined, end: () => undefined });
