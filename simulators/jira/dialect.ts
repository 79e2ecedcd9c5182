import { type Answer, type Body, type Call, Refusal } from '../shared/http.ts';

/** A position in a list as the client asked for it and the server granted it. */
export interface Place {
  readonly startAt: number;
  readonly maxResults: number;
}

export interface PageSize {
  readonly standard: number;
  readonly max: number;
}

export type DialectName = 'contract' | 'vendor' | 'data-center';

/** How answers look: as the contract says, or as the vendor does where the contract is silent. */
export interface Dialect {
  readonly name: DialectName;
  /** True: Jira Cloud. */
  readonly vendor: boolean;
  json(body: unknown, status?: number): Answer;
  /** JSON that is written already, with status 200. */
  written(body: Body): Answer;
  /** A refusal with the tracker's own messages. */
  refused(status: number, ...messages: readonly string[]): Refusal;
  /** A refusal before the request reached the tracker's code. */
  problem(status: number, title: string, detail: string): Refusal;
  position(call: Call, size: PageSize): Place;
  /** A page of a list under `values`. */
  values(call: Call, size: PageSize, items: readonly unknown[]): Answer;
}

const contract = (): Dialect => {
  const json = (body: unknown, status = 200): Answer => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: [Buffer.from(JSON.stringify(body))],
  });
  const refused = (status: number, ...errorMessages: readonly string[]): Refusal =>
    new Refusal(json({ errorMessages, errors: {} }, status));
  const position = (call: Call, size: PageSize): Place =>
    placeOf(call, size, (name, value) => refused(400, `${name} is not a whole number from 0 up: ${value}`));
  return {
    name: 'contract',
    vendor: false,
    json,
    written: (body) => ({ status: 200, headers: { 'content-type': 'application/json' }, body }),
    refused,
    problem: (status, _title, detail) => refused(status, detail),
    position,
    values: (call, size, items) => {
      const at = position(call, size);
      return json({
        ...at,
        total: items.length,
        values: items.slice(at.startAt, at.startAt + at.maxResults),
      });
    },
  };
};

const vendor = (base: string): Dialect => {
  const json = (body: unknown, status = 200): Answer => ({
    status,
    headers: { 'content-type': 'application/json;charset=UTF-8' },
    body: [Buffer.from(JSON.stringify(body))],
  });
  const problem = (status: number, title: string, detail: string): Refusal =>
    new Refusal({
      status,
      headers: { 'content-type': 'application/problem+json' },
      body: [Buffer.from(JSON.stringify({ type: 'about:blank', title, status, detail }))],
    });
  const position = (call: Call, size: PageSize): Place =>
    placeOf(call, size, (name, value) =>
      problem(400, 'Bad Request', `Failed to convert '${name}' with value: '${value}'`),
    );
  return {
    name: 'vendor',
    vendor: true,
    json,
    written: (body) => ({ status: 200, headers: { 'content-type': 'application/json;charset=UTF-8' }, body }),
    refused: (status, ...errorMessages) => new Refusal(json({ errorMessages, errors: {} }, status)),
    problem,
    position,
    values: (call, size, items) => {
      const at = position(call, size);
      const link = (startAt: number): string => {
        const query = new URLSearchParams(call.query);
        query.set('startAt', String(startAt));
        query.set('maxResults', String(at.maxResults));
        return `${base}${call.path}?${query}`;
      };
      const shown = items.slice(at.startAt, at.startAt + at.maxResults);
      const isLast = at.startAt + shown.length >= items.length;
      return json({
        self: link(at.startAt),
        ...(isLast ? {} : { nextPage: link(at.startAt + shown.length) }),
        maxResults: at.maxResults,
        startAt: at.startAt,
        total: items.length,
        isLast,
        values: shown,
      });
    },
  };
};

const placeOf = (call: Call, size: PageSize, wrong: (name: string, value: string) => Refusal): Place => {
  const whole = (name: string, standard: number): number => {
    const value = call.query.get(name);
    if (value === null) return standard;
    if (!/^\d{1,15}$/.test(value)) throw wrong(name, value);
    return Number(value);
  };
  const maxResults = Math.min(whole('maxResults', size.standard), size.max, call.cap ?? size.max);
  return { startAt: whole('startAt', 0), maxResults };
};

/** Jira Data Center: a path that it does not know gets a page for people. */
const dataCenter = (): Dialect => ({
  ...contract(),
  name: 'data-center',
  problem: (status) =>
    new Refusal({
      status,
      headers: { 'content-type': 'text/html;charset=UTF-8' },
      body: [Buffer.from('<html><body><h1>Oops, you&#39;ve found a dead link.</h1></body></html>')],
    }),
});

export const dialectOf = (name: DialectName, base: string): Dialect =>
  name === 'contract' ? contract() : name === 'vendor' ? vendor(base) : dataCenter();
