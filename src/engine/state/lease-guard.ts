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
export async function fenced<T>({ deps, lease }: Holder, work: (session: Session) => Promise<T>): Promise<T> {
  const guarded = async (
    session: Session,
  ): Promise<{ readonly result: T; readonly confirm: () => void }> => ({
    result: await work(session),
    confirm: await lease.guard(session),
  });
  const { settings, signal } = lease;
  const { result, confirm } = await inTransaction(deps.warehouse.pool, signal, guarded, { settings });
  confirm();
  return result;
}
