/**
 * The command line as text: a verb with its arguments, what it does, its options, and examples after `$`. `<n>` is a whole number, `<n=20>`
 * one with a default, `<+n=20>` one from 1 on; `<name...>` a list; `!` marks what is required.
 */
export const usage = `
sync [pipeline...] · read what changed, from every configured source or the named ones
  --stream <name...> · only these streams
  --full · read everything again
  --dry-run · only print what would be read
  $ tidemark sync · everything that is configured
  $ tidemark sync tracker --full --dry-run · what would a full read cost?
  $ tidemark sync --json | jq . · events, one a line
backfill <pipeline> · read the window [from, to) again; repeatable
  --from <date> · first day or instant, e.g. 2024-01-01 (UTC)!
  --to <date> · end, not included, e.g. 2024-02-01 (UTC)!
  --stream <name...> · only these streams
  --dry-run · only print what would be read
  $ tidemark backfill tracker --from 2024-01-01 --to 2024-02-01 · what was created in January 2024
reconcile <pipeline> · read all ids; mark what was deleted at the source, un-mark what is back
  --stream <name...> · only these streams
  $ tidemark reconcile tracker · find deletions
init · write a .env to fill in
  $ tidemark init · in the working directory
check · one authenticated request a source, a write and rollback on the warehouse
  $ tidemark check · are the settings right?
migrate · bring the schema of the warehouse up to date (sync does it by itself)
  --dry-run · only print what would be applied
  $ tidemark migrate · apply what is missing
status · how fresh every stream is
  $ tidemark status · one sentence and a table
  $ tidemark status --json · for scripts
runs [id] · the last runs, or one of them with streams and receipts
  --limit <+n=20> · how many
  --pipeline <name> · only of this pipeline
  $ tidemark runs 12 · streams and receipts of run 12
logs [id] · the log of a run of tidemark serve; without an id, of the newest
  --limit <+n=100> · how many lines
  $ tidemark logs 12 · of run 12
streams [name] · the streams with their tables, or one of them with columns and receipts
  $ tidemark streams issues · columns, comments, receipts
rejects list · records that could not become rows, with the reason
  --stream <name> · only of this stream
  --all · also those that were resolved
  --limit <+n=50> · how many
  $ tidemark rejects list --stream issues · of one stream
rejects replay [id] · try them again, all or one, e.g. after an update of Tidemark
  --stream <name> · only of this stream
  --pipeline <name> · only of this pipeline
  $ tidemark rejects replay 17 · one of them
reset <stream> · forget the watermark of a stream; its rows stay, the next sync reads all of it
  --pipeline <name> · of which pipeline, if several have a stream of that name
  $ tidemark reset issues && tidemark sync · read all issues again
why <table> <key> · where one row comes from
  $ tidemark why tracker.issues PROJ-7 · by id, key or former key
simulate · start simulated sources to try things on; runs until Ctrl-C
  --seed <n=7> · another seed is another company
  --issues <n=5000> · how many issues it has
  --port <n=0> · where to listen; 0 takes a free port
  --latency <n=0> · delay of each answer, ms
  --dialect <contract|vendor> · answer as the contract says (default), or as the vendor does
  $ tidemark simulate --dialect vendor · prints what to put into .env
demo · see it work: a simulated company, a warehouse, two syncs and a summary
  --seed <n=7> · another seed is another company
  --issues <n=5000> · how many issues it has
  --keep · stay until Ctrl-C, with the warehouse open
  $ tidemark demo · nothing has to be set up
  $ tidemark demo --verbose · with every table, receipt and question
warehouse · start the embedded warehouse for psql and BI tools; runs until Ctrl-C
  $ tidemark warehouse · prints the connection string
serve · scheduler, control API and dashboard; runs until stopped
  --host <address> · where to listen (TIDEMARK_HOST; 127.0.0.1)
  --port <n> · on which port; 0 takes a free one (TIDEMARK_PORT; 8080)
  $ TIDEMARK_API_TOKEN_FILE=token tidemark serve --host 0.0.0.0 · also for other machines
remote <action> <dag> [run] · drive a tidemark serve elsewhere: start, status, stop, retry, runs or log
  --url <address> · where it serves (TIDEMARK_HOST and TIDEMARK_PORT)
  --params <pairs> · start: e.g. "FROM=2024-01-01 TO=2024-02-01 STREAMS=issues"
  --run-id <id> · start: the same id again gives the same run
  --limit <+n=50> · runs and log: how many
  $ tidemark remote start tracker --params "FROM=2024-01-01 TO=2024-02-01" · a backfill
  $ tidemark remote status nightly --url https://sync.example.com · the newest run
start · what npm start does: sync everything configured, or the demo if nothing is
`;

/** Where each verb is loaded from when it is called. It gets arguments and options by their names. */
export const loaders = {
  sync: async () => (await import('./run.ts')).sync,
  backfill: async () => (await import('./run.ts')).backfill,
  reconcile: async () => (await import('./run.ts')).reconcile,
  init: async () => (await import('./schema.ts')).init,
  check: async () => (await import('./check.ts')).check,
  migrate: async () => (await import('./schema.ts')).migrate,
  status: async () => (await import('./inspect.ts')).status,
  runs: async () => (await import('./inspect.ts')).runs,
  logs: async () => (await import('./inspect.ts')).logs,
  streams: async () => (await import('./inspect.ts')).streams,
  'rejects list': async () => (await import('./rejects.ts')).list,
  'rejects replay': async () => (await import('./rejects.ts')).replay,
  reset: async () => (await import('./schema.ts')).reset,
  why: async () => (await import('./inspect.ts')).why,
  simulate: async () => (await import('./local.ts')).simulate,
  demo: async () => (await import('./demo.ts')).demo,
  warehouse: async () => (await import('./local.ts')).warehouse,
  serve: async () => (await import('./serve.ts')).serve,
  remote: async () => (await import('./remote.ts')).remote,
  start: async () => (await import('./demo.ts')).start,
};
