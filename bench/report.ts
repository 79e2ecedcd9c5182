import os from 'node:os';

/** One measured ratio against its goal. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly goal: string;
  readonly ok: boolean;
}

export interface Measured {
  readonly issues: number;
  readonly times: number;
  readonly concurrency: number;
  readonly firsts: readonly number[];
  readonly raws: readonly number[];
  readonly https: readonly number[];
  readonly again: number;
  readonly touched: number;
  readonly remote: number;
  readonly peaks: readonly number[];
  readonly tables: readonly { readonly name: string; readonly rows: number }[];
  readonly cpu: number;
}

const seconds = (list: readonly number[]): string => list.map((value) => value.toFixed(2)).join(', ');

/** docs/performance.md: the figures of one run, and how they were taken. */
export function report(figures: readonly Figure[], of: Measured): string {
  const rows = figures.map(
    ({ name, value, goal, ok }) =>
      `| ${name} | ${value.toPrecision(3)} | ${goal} | ${ok ? 'met' : 'not met'} |`,
  );
  const load = os.loadavg()[0] ?? 0;
  return `# Performance

Written by \`npm run bench\`. Ratios taken in one run on one machine; absolute seconds say little about another one.

| what | measured | goal | |
|---|---|---|---|
${rows.join('\n')}

## How

${of.issues.toLocaleString('en')} issues of about 2.5 kB from the local simulator, ${of.concurrency} slices at once, medians of ${of.times} interleaved rounds.
Node ${process.versions.node}, ${os.cpus().length} cores, load average ${load.toFixed(1)} at the end; simulator, program and Postgres share them.

- (a) first sync: ${seconds(of.firsts)} s (program: ${of.cpu.toFixed(1)} s of CPU)
- raw \`\\copy\` of the same rows into the same tables (COPY text from files, primary keys and indexes in place): ${seconds(of.raws)} s
- HTTP plus parse alone (the same requests, records dropped): ${seconds(of.https)} s
- (b) \`--full\` again: ${of.again.toFixed(2)} s · (c) after 1 % changed: ${of.touched.toFixed(2)} s · (d) with 50 ms a request: ${of.remote.toFixed(2)} s
- (e) peak resident memory: ${of.peaks.map((peak) => `${peak.toFixed(0)} MB`).join(', ')} (the largest of as many runs of the smaller size as read the same number of issues: the longer run has as many moments)
- (j) a long history has 220 changes; the search shows 40 of them
- every measure reads answers that the simulators have given before: it is the reader that is measured
- rows: ${of.tables.map(({ name, rows: count }) => `${name} ${count.toLocaleString('en')}`).join(', ')}

HTTP plus parse and raw \`\\copy\` each use one of the two cores; a first sync does both. Where HTTP plus parse takes less time than
\`\\copy\`, no loader can come within 0.75 of it: the server's part alone takes longer.

## What keeps them from their goals

A **first load** of 100,000 issues took 28 s of CPU in 20 s: the program's main thread 12.4 s (parsing, mapping, encoding), its other threads
3.8 s (garbage collection, compression), Postgres 10.7 s. Raw \`\\copy\` took 6.2 s. Two cores that are never idle need 14 s for it, 0.44 of
raw \`\\copy\`: 0.45 takes less CPU, not only more at once. Both cores were 70 % busy, because sessions wait inside COPY for the thread that maps.
Four loads at once in place of two took 11 to 17 % less time, batches of 12 MB 19 % less with 300 MB of memory, which is beyond the budget.

More was tried with 20,000 and 30,000 issues, in turns on a machine that others kept busy (load 10 to 30), two to eight rounds each. CPU is that of
program and Postgres together; one and the same checkout took 7.2 to 8.2 s of it for 20,000 issues, so a difference below 5 % says nothing.

| tried | CPU | peak memory |
|---|---|---|
| a thread that owns the connections and takes chunks of COPY by transfer (a prototype: all sockets of the warehouse in a worker) | 0 to 9 % more | 15 to 38 MB more |
| three loads at once in place of two | 0 to 14 % more | 2 to 8 MB more |
| batches of 4 and of 8 MB in place of 2 | no difference | up to 20 MB more |
| facts derived before the lease is locked, so that loads wait less for each other | no difference | no difference |
| pages mapped one after the other, so that connections are looked at more often | no difference | 5 to 15 MB more |
| chunks of 512 kB in place of 128 | about 2 % less, within the noise | no difference |
| garbage collection by the main thread alone | 5 % less | 45 MB more |

So the thread was not built: what the main thread saves, the messages cost, and CPU alone keeps 0.45 out of reach. How long each takes
where nothing else runs could not be measured. The profile has no single cause. Of the main thread, \`JSON.parse\` with its checks is a fifth, garbage collection 12 %, writing to sockets 6 %, no other function more than 4 %; of Postgres, no
function is more than 4 %. Facts are 45 % of Postgres's time, in some twenty statements a batch, a tenth of it planning.

A **night** of 1,000 changes among 100,000 issues sends 20 requests: 10 pages of what changed; 4 of what changed in the 24 hours before the last
run, because an index may lag behind (guarantee G4); 3 of the two lists of fields, which say when a field is new or means something else; the
account, without which a refused token looks like an empty site; one that finds what the search understands; and the count that the pages are
compared with (guarantee G15). Twelve would leave two for all but the changed pages. A third of the CPU of its program is the loading of
modules: in the package, where libraries are one file each, \`tidemark status\` takes 0.42 s in place of 0.65, and a sync of everything with nothing
to do 1.31 s in place of 1.50 (CPU, in turns on a machine with a load of 20, where \`node -e 0\` takes 0.08). Since commands that read no source do not load the
HTTP client, \`status\` takes 0.44 s in place of 0.52, not packed (five turns). A sync of one tracker of 2,000 issues with nothing to do takes 1.8 s
and 1.1 s of CPU, above the goal of 0.5 s. It sends 64 requests and 1,027 statements, since it asks 59 owners (sprints, groups, boards) for their
members. Writing to sockets takes a quarter of that CPU, loading modules another quarter. With issues alone it takes 0.8 s of CPU.

The **queue beside a reader** that keeps its snapshot for two hours (part m): Postgres may not remove what the reader could still see, so each look for a
job passes by the versions of 4,000 jobs that are over. A look took 6 ms in place of 0.4 and the end of a job 2.4 ms in place of 0.14
(pg_stat_statements, eight workers that do nothing else). So the queue works at 0.46 to 0.69 of its speed (two rounds), and one job takes 12 to 31 ms from start to end in place of 7 or 8.
With 500 pipelines each quarter of an hour a job is due every 1.8 s.

A **night over 50 sites** of 400 ms a request (part m) takes 96.7, 52.9 and 32.9 s with one, two and four processes. Four are 2.94 times as fast as
one and miss 3.2: 50 sites fill the 16 places of four processes in four waves, and the 4 places of one in 13. Whole waves allow 3.25.
`;
}
