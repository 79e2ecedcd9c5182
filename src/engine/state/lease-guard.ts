import { inTransaction, type Session } from '../../load/session.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import type { Lease } from './lease.ts';

/** The holder of a lease with its warehouse; a run's context is one. */
export interface Holder {
  readonly deps: { readonly warehouse: Warehouse };
  readonly lease: Lease;
}

/**
 * One transaction of the lease's holder; it commits only while the lease is still held (guarantee G7). `work`
 * must be repeatable. Throws as `inTransaction`, or `Fenced`.
 */
export async function withLease<T>(
  { deps, lease }: Holder,
  work: (session: Session) => Promise<T>,
): Promise<T> {
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
