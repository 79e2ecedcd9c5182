/** What ran when, one bar each: the streams of a run, or the parts of a night. */

import { duration } from '../../core/format.ts';
import type { RunStream } from '../../queries/run-history.ts';
import type { Quiet } from '../../queries/timeline.ts';
import { sign, spoken, toneOf } from './components.ts';
import { key, span } from './figures.ts';
import { type Html, html } from './html.ts';

type Bar = Pick<RunStream, 'stream' | 'status' | 'startedAt' | 'finishedAt'> &
  Partial<Pick<RunStream, 'readingSeconds' | 'limitedSeconds'>>;

const isKnown = ({ readingSeconds }: Pick<Bar, 'readingSeconds'>): boolean =>
  typeof readingSeconds === 'number';

const secondsFrom = (from: Date, to: Date): number => (to.getTime() - from.getTime()) / 1000;

/**
 * The parts of a bar say what its time went into, where that is known; their heights say the same as their tones.
 * `quiet`: shaded, the source asked every request to pause. `end`: when it all ended, or now.
 */
export function gantt(bars: readonly Bar[], quiet: readonly Quiet[], start: Date, end: Date): Html {
  const length = Math.max(1, secondsFrom(start, end));
  const rect = (tone: string, from: number, seconds: number, height: number) =>
    seconds > 0 &&
    html`<rect class="${tone}" ${span((100 * from) / length, (100 * seconds) / length)} y="${8 - height / 2}" height="${height}"/>`;
  const pauses = quiet.map(({ from, to }) =>
    rect('quiet', secondsFrom(start, from), secondsFrom(from, to), 16),
  );
  const row = ({ stream, status, startedAt, finishedAt, ...spent }: Bar): Html => {
    const from = secondsFrom(start, startedAt);
    const took = secondsFrom(startedAt, finishedAt ?? end);
    const limited = spent.limitedSeconds ?? 0;
    const reading = spent.readingSeconds ?? took;
    const waiting = Math.max(0, took - reading - limited);
    const parts = `: reading ${duration(reading)}, rate-limited ${duration(limited)}, waiting ${duration(waiting)}`;
    const isSplit = isKnown(spent);
    const label = `${stream} ${spoken(status)} after ${duration(took)}${isSplit ? parts : ''}`;
    return html`<span>${sign(toneOf(status))}${stream}</span>
<svg role="img" height="16" aria-label="${label}"><title>${label}</title>${pauses}
${rect(isSplit ? 'going' : toneOf(status), from, reading, 14)}
${rect('warn', from + reading, limited, 9)}${rect('none', from + reading + limited, waiting, 4)}</svg>
<span class="n">${duration(took)}</span>
`;
  };
  const paused = quiet.reduce((sum, { from, to }) => sum + secondsFrom(from, to), 0);
  return html`<div class="gantt">${bars.map(row)}</div>${
    bars.some(isKnown) && spentKey
  }${paused > 0 && html`<p class="soft">Shaded: rate-limited by the source (${duration(paused)} in all).</p>`}`;
}

const spentKey = html`${key([
  ['going', 'reading'],
  ['warn', 'rate-limited'],
  ['none', 'waiting'],
])}<p class="soft">A bar shows how much of its time went into each, not in which order.
A stream waits for its turn, for another stream or for the warehouse.</p>`;
