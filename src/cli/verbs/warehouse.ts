import type { Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { toJson } from '../progress/json.ts';
import { current } from '../schema.ts';
import { facts } from '../table.ts';
import { untilStopped } from '../until.ts';

/** Starts the embedded warehouse, tells how to connect, and keeps it up until asked to stop. */
export const warehouse: Verb<object> = async (context) => {
  const { parts, out, err, json, quiet } = context;
  if (!quiet && !json) err.line('starting the warehouse');
  const embedded = await parts.embedded();
  const opened = await current(context, (text) => (quiet || json ? undefined : err.line(text)));
  if (embedded === undefined) {
    // Somebody else's server: it is up or not without us, and its password is theirs to show.
    if (json) out.line(toJson({ embedded: false, address: opened.address }, 2));
    else
      out.line(
        `DATABASE_URL is set: the warehouse is ${opened.address}, which this program does not start or stop.`,
      );
    return exit.ok;
  }
  const { url } = embedded;
  if (json)
    out.line(toJson({ embedded: true, url, host: '127.0.0.1', port: embedded.port, data: embedded.data }));
  else {
    const address = new URL(url);
    for (const line of facts(
      [
        ['connection', url],
        ['psql', `psql '${url}'`],
        ['host', address.hostname],
        ['port', String(embedded.port)],
        ['database', address.pathname.slice(1)],
        ['user', decodeURIComponent(address.username)],
        ['password', decodeURIComponent(address.password)],
        ['data', embedded.data],
      ],
      out,
    ))
      out.line(line);
    if (!quiet) err.line('The warehouse is open. Ctrl-C closes it.');
  }
  await untilStopped(context.signal);
  return exit.ok;
};
