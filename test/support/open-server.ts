/** A Postgres of a test's own as administrators run one: with TLS, a directory for its socket, and rules about how one may come in. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Cluster, lend, make, running } from '../../src/embedded/cluster.ts';
import { freePort } from '../../src/embedded/embedded.ts';
import { program, unprivileged, usable } from '../../src/embedded/native.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { until } from './processes.ts';

export interface OpenServer {
  readonly port: number;
  /** Of its socket, and of the certificate, `root.crt`. */
  readonly directory: string;
  /** The port of a read-only replica of it as it was in the end, without TLS. */
  readonly replica: number;
  remove(): Promise<void>;
}

export interface OpenServerOptions {
  /** Statements of the owner, run before the rules hold. */
  readonly statements: readonly string[];
  /** Lines of `pg_hba.conf`. */
  readonly rules: readonly string[];
  /** PEM texts. */
  readonly tls: { readonly certificate: string; readonly key: string };
}

export async function openServer({ statements, rules, tls }: OpenServerOptions): Promise<OpenServer> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tm-open-'));
  fs.chmodSync(directory, 0o755);
  const as = process.getuid?.() === 0 ? unprivileged() : undefined;
  const native = usable(directory, as);
  lend(directory, as);
  const at = (name: string): string => path.join(directory, name);
  const cluster = (name: string): Cluster => ({ native, as, data: at(name), log: at(`${name}.log`) });
  const write = (file: string, text: string, mode: number): void => {
    fs.writeFileSync(file, text, { mode });
    lend(file, as);
  };
  write(at('root.crt'), tls.certificate, 0o644);
  write(at('server.key'), tls.key, 0o600);
  const serve = async ({ data }: Cluster, settings: Readonly<Record<string, string>>) => {
    const port = await freePort();
    const all = { port: String(port), listen_addresses: '127.0.0.1', fsync: 'off', ...settings };
    const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const log = fs.openSync(at('server.log'), 'a');
    const server = spawn(program(native, 'postgres'), ['-D', data, ...args], {
      ...as,
      stdio: ['ignore', log, log],
      cwd: directory,
      env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    });
    fs.closeSync(log);
    const ended = once(server, 'exit');
    await until('the server takes connections', () => running(data)?.status === 'ready');
    const stop = async (): Promise<void> => {
      server.kill('SIGINT');
      await ended;
    };
    return { port, stop };
  };
  const main = cluster('main');
  await make(main, 'test');
  const first = await serve(main, { unix_socket_directories: '' });
  const admin = await connect(`postgres://tidemark:test@127.0.0.1:${first.port}/postgres`, { max: 1 });
  for (const statement of statements) await admin.pool.query(statement);
  await admin.close();
  await first.stop();
  const copy = cluster('copy');
  // With its owner.
  execFileSync('cp', ['-a', main.data, copy.data]);
  write(path.join(copy.data, 'standby.signal'), '', 0o600);
  for (const { data } of [main, copy]) write(path.join(data, 'pg_hba.conf'), `${rules.join('\n')}\n`, 0o600);
  const { port, stop } = await serve(main, {
    ssl: 'on',
    ssl_cert_file: at('root.crt'),
    ssl_key_file: at('server.key'),
    unix_socket_directories: directory,
  });
  const replica = await serve(copy, { unix_socket_directories: '' });
  return {
    port,
    directory,
    replica: replica.port,
    async remove() {
      await Promise.all([stop(), replica.stop()]);
      fs.rmSync(directory, { recursive: true, force: true });
    },
  };
}
