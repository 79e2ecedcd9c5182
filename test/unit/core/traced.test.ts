import { SpanStatusCode } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { status } from '../../../simulators/shared/faults.ts';
import { AuthFailed, BadData } from '../../../src/core/errors.ts';
import { traced } from '../../../src/core/traced.ts';
import { execute } from '../../../src/runs/run.ts';
import { testRig } from '../../support/rig.ts';
import { recordSpans } from '../../support/spans.ts';

test('a run, its streams and each try of their requests are spans within each other', async () => {
  const rig = await testRig();
  const projects = '/rest/api/3/project/search';
  const fault = rig.tracker.script.at({ endpoint: projects }, status(503));
  const spans = recordSpans();
  const ask = { pipeline: 'tracker', does: 'sync', streams: ['projects', 'issues'] } as const;
  const { report } = await rig.during((deps) => execute(ask, deps));
  expect([report.status, fault.fired]).toEqual(['succeeded', 1]);
  const named = (name: string) => spans.filter((span) => span.name === name);
  const [run] = named('run tracker');
  const [stream] = named('stream projects');
  expect(run?.attributes).toEqual({
    'tidemark.pipeline': 'tracker',
    'tidemark.does': 'sync',
    'tidemark.status': 'succeeded',
  });
  expect(stream?.attributes).toEqual({
    'tidemark.pipeline': 'tracker',
    'tidemark.stream': 'projects',
    'tidemark.status': 'ok',
  });
  expect(named('stream issues')).toHaveLength(1);
  expect(stream?.parent).toBe(run?.id);
  const tries = named(`GET ${projects}`);
  expect(tries.map(({ parent }) => parent)).toEqual(Array(tries.length).fill(stream?.id));
  const request = {
    'http.request.method': 'GET',
    'url.template': projects,
    'server.address': new URL(rig.tracker.url).host,
  };
  expect(tries[0]?.attributes).toEqual({
    ...request,
    'http.response.status_code': 503,
    'error.type': 'transient',
  });
  expect(tries[0]?.status).toEqual({ code: SpanStatusCode.ERROR });
  expect(tries[1]?.attributes).toEqual({ ...request, 'http.response.status_code': 200 });
  expect(tries[1]?.events).toEqual(['sent']);
});

test('a run that fails is a failed span, and no span holds a credential, a query or anything of a record', async () => {
  const rig = await testRig();
  rig.tracker.script.at({ endpoint: '/rest/api/3/myself', times: 9 }, status(401));
  const spans = recordSpans();
  const { failure } = await rig.during((deps) => execute({ pipeline: 'tracker', does: 'sync' }, deps));
  expect(failure).toBeInstanceOf(AuthFailed);
  expect(spans.at(-1)).toMatchObject({
    name: 'run tracker',
    status: { code: SpanStatusCode.ERROR },
    attributes: { 'error.type': 'auth' },
  });
  await expect(
    traced('part', {}, () => Promise.reject(new BadData('bad_date', 'summary "Salaries 2027" is too long'))),
  ).rejects.toThrow(BadData);
  const told = JSON.stringify(spans);
  expect(told).toContain('"error.type":"bad_date"');
  expect(told).not.toMatch(/Salaries|jql=|updated >/);
  expect(told).not.toContain(rig.tracker.token);
  expect(told).not.toContain(rig.tracker.email);
});

test('without an SDK the work is done, and nothing is recorded', async () => {
  expect(await traced('work', { a: 1 }, async (span) => span.isRecording())).toBe(false);
  await expect(traced('work', {}, () => Promise.reject(new RangeError('defect')))).rejects.toThrow('defect');
});
