/** Spans as an SDK of OpenTelemetry records them: by span of the process, each with the one that was active when it began. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  type SpanStatus,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { onTestFinished } from 'vitest';

export interface RecordedSpan {
  readonly name: string;
  readonly id: string;
  readonly parent: string | undefined;
  readonly attributes: Attributes;
  readonly events: string[];
  status?: SpanStatus;
}

/** Records spans until the test ends. Returns those that ended, in the order of their ends. */
export function recordSpans(): readonly RecordedSpan[] {
  const ended: RecordedSpan[] = [];
  const active = new AsyncLocalStorage<Context>();
  let begun = 0;
  const begin = (name: string, { attributes = {} }: SpanOptions, around: Context): Span => {
    begun += 1;
    const id = begun.toString(16).padStart(16, '0');
    const parent = trace.getSpanContext(around)?.spanId;
    const recorded: RecordedSpan = { name, id, parent, attributes: { ...attributes }, events: [] };
    const span: Span = trace.wrapSpanContext({ traceId: 'f'.repeat(32), spanId: id, traceFlags: 1 });
    return Object.assign(span, {
      isRecording: () => true,
      setAttribute: (key: string, value: string) => {
        recorded.attributes[key] = value;
        return span;
      },
      addEvent: (event: string) => {
        recorded.events.push(event);
        return span;
      },
      setStatus: (status: SpanStatus) => {
        recorded.status = status;
        return span;
      },
      end: () => void ended.push(recorded),
    });
  };
  const tracer: Tracer = {
    startSpan: (name, options = {}, around = context.active()) => begin(name, options, around),
    // The one of its three forms that is called.
    startActiveSpan: ((name: string, options: SpanOptions, work: (span: Span) => unknown) => {
      const span = begin(name, options, context.active());
      return context.with(trace.setSpan(context.active(), span), () => work(span));
    }) as Tracer['startActiveSpan'],
  };
  context.setGlobalContextManager({
    active: () => active.getStore() ?? ROOT_CONTEXT,
    with: (around, work, self, ...args) => active.run(around, () => work.apply(self as never, args)),
    bind: (_, target) => target,
    enable() {
      return this;
    },
    disable() {
      return this;
    },
  });
  trace.setGlobalTracerProvider({ getTracer: () => tracer });
  onTestFinished(() => {
    trace.disable();
    context.disable();
  });
  return ended;
}
