import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeDirectory } from '../../../src/core/make-directory.ts';
import { openEmbedded } from '../../../src/embedded/embedded.ts';

test('a directory is made with those above it, and one that is there stays as it is', () => {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), 'tidemark-made-'));
  const deep = path.join(place, 'a', 'b', 'c');
  makeDirectory(deep, 0o700);
  expect(fs.statSync(deep).mode & 0o777).toBe(0o700);
  fs.writeFileSync(path.join(deep, 'kept'), '');
  makeDirectory(deep);
  expect(fs.readdirSync(deep)).toEqual(['kept']);
  expect(() => makeDirectory(path.join(deep, 'kept'))).toThrow('EEXIST');
  fs.rmSync(place, { recursive: true });
});

test.skipIf(!fs.existsSync('/proc/self'))(
  'a home that nobody can make is refused in words: Node asked the system for it without end',
  async () => {
    await expect(openEmbedded('/proc/nothing/home')).rejects.toThrow(
      /^cannot make \/proc\/nothing\/home.*TIDEMARK_HOME/,
    );
  },
);
