import fs from 'node:fs';

/** Settings of a Postgres server, by name; given to it as `-c name=value`. */
export type Settings = Readonly<Record<string, string>>;

/**
 * A warehouse on a laptop: large loads, few connections, safe against power loss. Nothing here gives durability up for speed.
 * @param log directory of the server's log: one file a weekday, overwritten a week later
 */
export const warehouseSettings = (log: string): Settings => ({
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
  fsync: 'on',
  synchronous_commit: 'on',
  autovacuum: 'on',
  random_page_cost: '1.1',
  jit: 'off',
  timezone: 'UTC',
  password_encryption: 'scram-sha-256',
  ...sharedMemory(),
  log_timezone: 'UTC',
  log_line_prefix: '%m [%p] %a ',
  log_destination: 'stderr',
  logging_collector: 'on',
  log_directory: log,
  log_filename: 'postgres-%a.log',
  log_rotation_age: '1d',
  log_rotation_size: '0',
  log_truncate_on_rotation: 'on',
});

/** Containers often give /dev/shm 64 MB, too little for a parallel hash join; then parallel workers share memory through files. */
function sharedMemory(): Settings {
  if (process.platform !== 'linux') return {};
  try {
    const { bsize, blocks } = fs.statfsSync('/dev/shm');
    return bsize * blocks >= 512 * 1024 * 1024 ? {} : { dynamic_shared_memory_type: 'mmap' };
  } catch {
    return { dynamic_shared_memory_type: 'mmap' }; // no /dev/shm at all
  }
}

/** Settings as arguments of `postgres`. */
export const asArguments = (settings: Settings): string[] =>
  Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
