/** Whether anything happened: one short text that changes when what a person sees may have changed. */
import { type Db, query } from './db.ts';

/** Cheap: reads the newest run, what is running, and the counts of open walks. */
export async function historyToken(db: Db): Promise<string> {
  const [found] = await query(db)<{ token: string }>`select token from ops.change_token`;
  return found?.token ?? '';
}
