/**
 * Spans of OpenTelemetry: for each run, each stream and each request. They are dropped at once unless the process was started with an SDK
 * (docs/guides/traces.md). Names and attributes hold no secret and nothing of a record.
 */
import { type Attributes, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { TidemarkError } from './errors.ts';

export type { Span } from '@opentelemetry/api';

/** Does the work within a span, which ends with it. What the work throws fails the span by its code: a message may quote a record. */
export const traced = <T>(
  name: string,
  attributes: Attributes,
  work: (span: Span) => Promise<T>,
): Promise<T> =>
  trace.getTracer('tidemark').startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      failSpan(span, error instanceof TidemarkError ? error.code : 'defect');
      throw error;
    } finally {
      span.end();
    }
  });

/** `code`: of the error, as in `ops.runs.error_code`. */
export const failSpan = (span: Span, code: string): Span =>
  span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', code);

/** How a run or a stream ended, in the words of its report. */
export function noteEnd(span: Span, status = 'failed'): void {
  span.setAttribute('tidemark.status', status);
  if (status === 'failed') failSpan(span, status);
}
