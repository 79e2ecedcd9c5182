import { inTransaction, type Session } from '../../load/session.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import type { Lease } from './lease.ts';

/** Who writes, and by what right: a run's context is one. */
export interface Holder {
  readonly deps: { readonly warehouse: Warehouse };
  readonly lease: Lease;
}

/**
 * One transaction of whoever holds the lease; it commits only while the lease is theirs (guarantee G7). `work` must be repeatable. Throws
 * as `inTransaction`, or `Fenced`.
 */
export function fenced<T>({ deps, lease }: Holder, work: (session: Session) => Promise<T>): Promise<T> {
  const guarded = async (session: Session): Promise<T> => {
    const result = await work(session);
    await lease.guard(session);
    return result;
  };
  return inTransaction(deps.warehouse.pool, lease.signal, guarded, { settings: lease.settings });
}
