/** Verbs for what readers of `bi` need: a login, and its views as files. */
import path from 'node:path';
import type { ReaderOptions } from '../bi/grant-reader.ts';
import { plural } from '../core/format.ts';
import { filled } from '../runs/pipelines.ts';
import type { Verb } from './context.ts';
import { exit } from './exit.ts';
import { print } from './output.ts';
import { dateOf } from './run.ts';

/** Makes a login that reads `bi` and nothing else, or brings one up to date. */
const grantReader: Verb<ReaderOptions & { name: string }> = async (context, { name, ...wanted }) => {
  const warehouse = await filled(context);
  const { grantReader } = await import('../bi/grant-reader.ts');
  const { url, hasPassword, exists, isNew, done, left } = await grantReader(warehouse, name, wanted);
  const code = left.length === 0 ? exit.ok : exists ? exit.partly : exit.failed;
  const rest = [
    context.out.paint('yellow', 'This user may not do the rest; let an administrator run:'),
    ...left.map(({ statement, reason }) => `  ${statement};  -- ${reason.replaceAll('\n', ' ')}`),
  ];
  return print(
    context,
    { reader: name, connection: url, hasPassword, isNew, done, left },
    [
      url,
      hasPassword
        ? 'The password is shown this once.'
        : 'The password stays as it was (--new-password makes one).',
      ...done
        .filter((statement) => !isNew || statement.endsWith(' from public'))
        .map((statement) => `Done: ${statement.replace(/ password '.*'$/, ' password …')}`),
      ...(left.length === 0 ? [] : rest),
      'What stays visible: the names and definitions in pg_catalog, and databases that PUBLIC may connect to.',
    ],
    code,
  );
};

type ExportFlags = { to: string; format: 'parquet' | 'csv'; view?: readonly string[]; since?: string };

/** Writes the views of `bi` as files. */
const exportBi: Verb<ExportFlags> = async (context, { to, format, view: views, since }) => {
  const { parts, say, signal, version, host } = context;
  const day = since === undefined ? undefined : dateOf(since, '--since').toISOString().slice(0, 10);
  const { url } = await filled(context);
  // A connection of its own: a view may be read for longer than any statement of a run may take.
  const settings = { max: 1, applicationName: 'tidemark export', statementTimeout: 0 };
  const { pool, close } = await parts.connected(url.reveal(), settings);
  signal.addEventListener('abort', () => void close());
  const { exportViews } = await import('../bi/export.ts');
  const folder = path.resolve(host.cwd(), to);
  const onView = (name: string) => say(`writing ${name}`);
  const manifest = await exportViews(pool, folder, { format, views, since: day, version, signal, onView });
  const rows = manifest.views.map(({ files, ...each }) => ({
    view: each.name,
    records: each.rows,
    files: files.length,
    megabytes: (files.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6).toFixed(1),
  }));
  const written = `Wrote ${plural(rows.length, 'view')} to ${folder}; manifest.json says what they hold.`;
  return print(context, manifest, [{ rows, keys: 'view records files megabytes' }, written]);
};

export { exportBi as export, grantReader as 'grant-reader' };
