import fs from 'node:fs';

/** Settings of a Postgres server, by name; given to it as `-c name=value`. */
export type ServerSettings = Readonly<Record<string, string>>;

/** A warehouse on a laptop: large loads, few connections, safe against power loss. Nothing here gives durability up for speed. */
export const warehouseSettings = (): ServerSettings => ({
  shared_buffers: '192MB',
  effective_cache_size: '1GB',
  work_mem: '32MB',
  maintenance_work_mem: '128MB',
  max_connections: '60',
  // No replicas here: the least WAL that still recovers from a crash.
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  wal_compression: 'pglz',
  min_wal_size: '256MB',
  max_wal_size: '3GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] %a ',
  log_checkpoints: 'off',
  ...(hasSharedMemory() ? {} : { dynamic_shared_memory_type: 'mmap' }),
});

/** Containers often give /dev/shm 64 MB, too little for a parallel hash join; then parallel workers share memory through files. */
function hasSharedMemory(): boolean {
  if (process.platform !== 'linux') return true;
  if (!fs.existsSync('/dev/shm')) return false;
  const { bsize, blocks } = fs.statfsSync('/dev/shm');
  return bsize * blocks >= 512 * 1024 ** 2;
}
