import type { Lent } from './ads.ts';
import { service } from './processes.ts';
import type { Figure } from './report.ts';

const limit = { perSecond: 100, burst: 20, latencyMs: 80 };
/**
 * Below the burst of the source: a process may be 100 ms late with what it took (10 requests), and the network and the event loops of both
 * sides may bring requests together that left apart (5).
 */
const ownBurst = 5;

/** (h): pages of a source with a limit, read by several processes that share a warehouse, against the time that the limit sets. */
export async function measureLimit(
  pages: number,
  { freshDatabase, say }: Pick<Lent, 'freshDatabase' | 'say'>,
): Promise<readonly Figure[]> {
  const source = await service<{ readonly url: string }>(
    'bench/limited-source.ts',
    Object.values(limit).map(String),
  );
  const { url: warehouse, warehouse: opened } = await freshDatabase('bench_limit');
  await opened.close();
  const { url } = source.ready;
  const read = async (processes: number, shared: boolean) => {
    const args = [url, String(limit.perSecond), String(ownBurst), ...(shared ? [warehouse] : [])];
    const readers = await Promise.all(
      Array.from({ length: processes }, () => service('bench/limited-reader.ts', args)),
    );
    const from = performance.now();
    await Promise.all(readers.map((reader) => reader.ask(pages / processes)));
    const seconds = (performance.now() - from) / 1000;
    await Promise.all(readers.map((reader) => reader.stop()));
    const { answered, refused } = (await source.ask('')) as { answered: number; refused: number };
    if (answered !== pages) throw new Error(`${answered} of ${pages} pages were answered`);
    const how = shared ? 'a shared limit' : 'a limit each';
    say(`${processes} × ${pages / processes} pages, ${how}: ${seconds.toFixed(2)} s, ${refused} × 429`);
    return { wall: seconds / (pages / limit.perSecond), refused };
  };
  try {
    const figures: Figure[] = [];
    for (const processes of [1, 2, 4, 8]) {
      const { wall, refused } = await read(processes, true);
      const name = `(h) ${pages} pages at ${limit.perSecond} requests a second, ${processes} process${processes > 1 ? 'es' : ''}`;
      const share = refused / pages;
      figures.push(
        { name: `${name}: wall time to pages ÷ limit`, value: wall, goal: 'at most 1.1', ok: wall <= 1.1 },
        { name: `${name}: answers 429 to pages`, value: share, goal: 'under 0.001', ok: share < 0.001 },
      );
    }
    const apart = await read(2, false);
    say(`2 processes with a limit each: ${apart.wall.toFixed(2)} × pages ÷ limit, ${apart.refused} × 429`);
    return figures;
  } finally {
    await source.stop();
  }
}
