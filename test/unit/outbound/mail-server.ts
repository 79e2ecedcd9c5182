/** A mail server on this machine: keeps what arrives. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface MailServer {
  readonly port: number;
  /** `user:password`, one for each login. */
  readonly logins: string[];
  readonly received: { readonly to: readonly string[]; readonly text: string }[];
  close(): Promise<void>;
}

/** Quoted-printable (RFC 2045) as text. */
const decoded = (quoted: string): string => {
  const bytes = quoted
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
};

/** Without STARTTLS, where the options do not say otherwise. It takes every login but that with the password `wrong`. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const logins: string[] = [];
  const received: MailServer['received'] = [];
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    authOptional: true,
    onAuth({ username, password }, _session, done) {
      logins.push(`${username}:${password}`);
      if (password === 'wrong') done(new Error(`${username} has no password ${password}`));
      else done(null, { user: username });
    },
    async onData(stream, { envelope }, done) {
      const to = envelope.rcptTo.map(({ address }) => address);
      received.push({ to, text: decoded(await text(stream)) });
      done();
    },
    ...options,
  });
  // A client that does not trust the certificate ends the connection.
  server.on('error', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    logins,
    received,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
