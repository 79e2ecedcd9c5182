import { inTransaction, type Session } from '../load/session.ts';
import type { RunContext } from './context.ts';

/** One data transaction of a run; it commits only while the lease is ours (guarantee G7). `work` must be repeatable. Throws as `inTransaction`, or `Fenced`. */
export function fenced<T>({ deps, lease }: RunContext, work: (session: Session) => Promise<T>): Promise<T> {
  const guarded = async (session: Session): Promise<T> => {
    const result = await work(session);
    await lease.guard(session);
    return result;
  };
  return inTransaction(deps.warehouse.pool, lease.signal, guarded, { settings: lease.settings });
}
