/** Reads as many MB of CSV as the first argument says; prints its peak memory (MB) and the rows that it saw. Run as a process of its own. */

import { openCsv } from '../../../../src/reading/csv/csv.ts';
import { cellsOf } from '../../../../src/reading/csv/lines.ts';

const header = 'DAY,CAMPAIGN_NAME,AD_SET_NAME,AD_NAME,SPEND,IMPRESSIONS_ON_SPOTIFY,CLICKS\n';
const line =
  '2025-03-01,"Spring, all of ""it""",Women 25-34,An ad with a name,9007199254.740993,123456,789\n';

async function* chunks(bytes: number): AsyncGenerator<Buffer, void, void> {
  yield Buffer.from(header);
  const piece = Buffer.from(line.repeat(700));
  for (let sent = 0; sent < bytes; sent += piece.length) {
    // As a socket does: a new buffer each time, and the event loop in between.
    yield Buffer.from(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const file = await openCsv('file', chunks(Number(process.argv[2]) * 1024 * 1024));
let rows = 0;
for await (const { lines } of file.blocks)
  for (const one of lines) if (cellsOf(one).length === file.header.length) rows++;
process.stdout.write(JSON.stringify({ rows, peakMb: process.resourceUsage().maxRSS / 1024 }));
