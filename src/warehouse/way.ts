/** Which of the routes to the warehouse new connections take: the one that worked last, and after a failure the next one. */
import { saidBy } from '../core/errors.ts';
import { isOfLine, isPassing } from './pg-errors.ts';
import type { Route } from './routes.ts';

/** A server whose session is not what `target_session_attrs` asks for. */
export class OtherServer extends Error {}

/** A route failed, and another one is taken from now on: trying again helps. */
class OtherRoute extends Error {
  /** sqlclient_unable_to_establish_sqlconnection, which passes. */
  readonly code = '08001';
}

export class Way {
  readonly #routes: readonly [Route, ...Route[]];
  current: Route;

  constructor(routes: readonly [Route, ...Route[]]) {
    this.#routes = routes;
    this.current = routes[0];
  }

  /** The error to throw where a route failed so. If another one may do, it is taken from now on; after the last comes the first. */
  after(failed: Route, error: unknown): unknown {
    const next = this.#next(failed, error) ?? failed;
    if (next === failed) return error;
    if (this.current === failed) this.current = next;
    return new OtherRoute(saidBy(error), { cause: error });
  }

  /** With or without TLS it may work on the same host; a host that is away, or is another server than wanted, leaves the others. */
  #next(failed: Route, error: unknown): Route | undefined {
    const rest = this.#routes.slice(this.#routes.indexOf(failed) + 1);
    const isSame = ({ address, demand }: Route) => address === failed.address && demand === failed.demand;
    if (isOfLine(error)) return rest.find(isSame);
    const isOfHost = isPassing(error) || error instanceof OtherServer;
    return isOfHost ? (rest.find((route) => !isSame(route)) ?? this.#routes[0]) : undefined;
  }
}
