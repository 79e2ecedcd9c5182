import { expect, test } from 'vitest';
import { isThisMachine } from '../../../src/core/this-machine.ts';

test.each([
  'localhost',
  'LocalHost',
  'localhost.',
  'ads.localhost',
  '127.0.0.1',
  '127.8.9.10',
  '::1',
  '[::1]',
  '[::ffff:7f00:1]',
])('%s is this machine', (host) => expect(isThisMachine(host)).toBe(true));

test.each([
  'example.com',
  'localhost.example.com',
  'notlocalhost',
  '127.0.0.1.example.com',
  '10.0.0.1',
  '128.0.0.1',
  '0.0.0.0',
  '[::]',
  '[::ffff:a00:1]',
  '',
])('%j is not', (host) => expect(isThisMachine(host)).toBe(false));
