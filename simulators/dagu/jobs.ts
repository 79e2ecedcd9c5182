/** The DAGs of the simulated company, as data. All times are UTC. */

export interface Work {
  readonly name: string;
  /** How long it usually takes, seconds. */
  readonly usually: number;
  /** What it prints when it is done; `#` stands for a number. */
  readonly says: string;
  /** The error and the last lines of its error output when it fails. */
  readonly trouble: string;
  /** It cannot work while the database is down. */
  readonly database?: boolean;
}

/** What a run is about in the other systems of the company, where it has any. */
export interface About {
  /** Key of an issue. */
  readonly issue: string | undefined;
  /** Id of a campaign. */
  readonly campaign: string | undefined;
}

export interface Job {
  readonly file: string;
  readonly description: string;
  readonly group: string;
  readonly tags: readonly string[];
  /** When it starts by itself. Absent: now and then somebody starts it by hand. */
  readonly schedule?: {
    readonly minute: number;
    readonly hours: readonly number[];
    readonly weekdays?: string;
  };
  readonly suspended?: boolean;
  /** What its runs are started with, for the day (`2026-03-01`) on which they start. */
  readonly params?: (day: string, about: About) => string;
  readonly steps: readonly Work[];
  /** How probable it is that a run goes wrong, 0 to 1. */
  readonly risk: number;
  /** A step that fails does not keep the next one from running: the run has then succeeded in part. */
  readonly carriesOn?: boolean;
}

const refused =
  'psql: error: connection to server at "orders-db" (10.0.4.12), port 5432 failed: Connection refused\nexit status 2';

const withValue = (params: string, name: string, value: string | undefined): string =>
  value === undefined ? params : `${params} ${name}=${value}`;

export const jobs: readonly Job[] = [
  {
    file: 'nightly_etl',
    description: 'Orders, customers and prices into the analytics database.',
    group: 'data',
    tags: ['nightly', 'critical'],
    schedule: { minute: 10, hours: [2] },
    params: (day) => `DATE=${day}`,
    risk: 0.05,
    steps: [
      {
        name: 'extract_orders',
        usually: 780,
        says: '# orders read',
        trouble: `reading orders\n${refused}`,
        database: true,
      },
      {
        name: 'extract_customers',
        usually: 240,
        says: '# customers read',
        trouble: `reading customers\n${refused}`,
        database: true,
      },
      {
        name: 'load',
        usually: 900,
        says: '# rows loaded',
        trouble: 'COPY orders, line 48112: disk full\nexit status 1',
      },
      {
        name: 'build_marts',
        usually: 520,
        says: '14 models built, # rows',
        trouble: 'model revenue_by_day: division by zero\nexit status 1',
      },
    ],
  },
  {
    file: 'billing_export',
    description: 'Invoices of the day before to the bank.',
    group: 'finance',
    tags: ['nightly', 'critical'],
    schedule: { minute: 30, hours: [4] },
    params: (day) => `DATE=${day} CURRENCY=EUR`,
    risk: 0.06,
    steps: [
      { name: 'collect_invoices', usually: 95, says: '# invoices', trouble: refused, database: true },
      {
        name: 'reconcile',
        usually: 210,
        says: '# invoices agree',
        trouble: '2 invoices differ by 0.01\nexit status 1',
      },
      {
        name: 'upload_to_bank',
        usually: 60,
        says: '# bytes sent',
        trouble: 'sftp: connected to the bank\nsftp: no answer for 30 s\nexit status 255',
      },
    ],
  },
  {
    file: 'sales_report',
    description: 'The report of the morning, by mail, on working days.',
    group: 'reports',
    tags: ['report'],
    schedule: { minute: 0, hours: [6], weekdays: '1-5' },
    risk: 0.04,
    steps: [
      {
        name: 'query',
        usually: 130,
        says: '# rows',
        trouble: 'canceling statement due to statement timeout',
      },
      { name: 'render', usually: 45, says: '# pages', trouble: 'font “Inter” not found\nexit status 1' },
      {
        name: 'send',
        usually: 12,
        says: '# recipients',
        trouble: '421 4.7.0 try again later\nexit status 75',
      },
    ],
  },
  {
    file: 'sync_stock',
    description: 'What is in the warehouses, to both shops.',
    group: 'shop',
    tags: ['hourly'],
    schedule: { minute: 15, hours: [1, 7, 13, 19] },
    risk: 0.08,
    carriesOn: true,
    steps: [
      { name: 'fetch_stock', usually: 75, says: '# articles', trouble: refused, database: true },
      {
        name: 'write_shop_eu',
        usually: 150,
        says: '# articles written',
        trouble: '503 Service Unavailable\nexit status 1',
      },
      {
        name: 'write_shop_us',
        usually: 165,
        says: '# articles written',
        trouble: '429 Too Many Requests\nexit status 1',
      },
    ],
  },
  {
    file: 'train_recommendations',
    description: 'The model behind “others also bought”, every Sunday.',
    group: 'ml',
    tags: ['weekly', 'gpu'],
    schedule: { minute: 0, hours: [20], weekdays: '0' },
    risk: 0.15,
    steps: [
      { name: 'features', usually: 1500, says: '# examples', trouble: refused, database: true },
      {
        name: 'train',
        usually: 7200,
        says: 'loss 0.0#',
        trouble: 'CUDA error: out of memory\nexit status 1',
      },
      {
        name: 'evaluate',
        usually: 900,
        says: 'recall 0.#',
        trouble: 'recall is below that of the model in use\nexit status 3',
      },
      {
        name: 'publish',
        usually: 30,
        says: 'model # published',
        trouble: 'registry: 409 Conflict\nexit status 1',
      },
    ],
  },
  {
    file: 'reload_orders',
    description: 'A month of orders once more. Started by hand.',
    group: 'data',
    tags: ['manual'],
    params: (day) => `MONTH=${day.slice(0, 7)} REASON="late corrections"`,
    risk: 0.2,
    steps: [
      { name: 'export', usually: 1800, says: '# orders', trouble: refused, database: true },
      { name: 'load', usually: 2700, says: '# rows loaded', trouble: 'deadlock detected\nexit status 1' },
      {
        name: 'verify',
        usually: 600,
        says: '# orders agree',
        trouble: '17 orders are missing\nexit status 4',
      },
    ],
  },
  {
    file: 'archive_logs',
    description: 'Logs of last year into cold storage. Switched off until there is a contract.',
    group: 'ops',
    tags: [],
    schedule: { minute: 45, hours: [3] },
    suspended: true,
    risk: 0,
    steps: [{ name: 'archive', usually: 60, says: '# files', trouble: 'no bucket' }],
  },
  {
    file: 'deploy_shop',
    description: 'The shop into production, on working days.',
    group: 'shop',
    tags: ['deployment'],
    schedule: { minute: 20, hours: [14], weekdays: '1-5' },
    params: (day, { issue }) => withValue(`VERSION=${day}`, 'ISSUE', issue),
    risk: 0.2,
    steps: [
      { name: 'build', usually: 320, says: '# files', trouble: 'npm error code E409\nexit status 1' },
      { name: 'test', usually: 610, says: '# tests passed', trouble: '3 tests failed\nexit status 1' },
      {
        name: 'roll_out',
        usually: 95,
        says: '# requests served',
        trouble: 'pods are not ready after 300 s\nexit status 1',
      },
    ],
  },
  {
    file: 'audience_export',
    description: 'Customers who have bought since, out of the audience of a campaign.',
    group: 'marketing',
    tags: ['daily'],
    schedule: { minute: 0, hours: [5] },
    params: (day, { campaign }) => withValue(`DATE=${day}`, 'CAMPAIGN_ID', campaign),
    risk: 0.03,
    steps: [
      { name: 'select_customers', usually: 85, says: '# customers', trouble: refused, database: true },
      { name: 'upload', usually: 40, says: '# addresses', trouble: '413 Payload Too Large\nexit status 1' },
    ],
  },
];

const day = 86_400_000;

/** The schedule in cron's words; undefined for what is started by hand. */
export const cronOf = ({ schedule }: Job): string | undefined =>
  schedule && `${schedule.minute} ${schedule.hours.join(',')} * * ${schedule.weekdays ?? '*'}`;

/** The ticks of a schedule in `(after, until]`, epoch ms, oldest first. */
export function* ticks(
  { schedule, suspended }: Job,
  after: number,
  until: number,
): Generator<number, void, void> {
  if (schedule === undefined || suspended) return;
  for (let midnight = Math.floor(after / day) * day; midnight <= until; midnight += day) {
    if (!falls(new Date(midnight).getUTCDay(), schedule.weekdays)) continue;
    for (const hour of schedule.hours) {
      const tick = midnight + (hour * 60 + schedule.minute) * 60_000;
      if (tick > after && tick <= until) yield tick;
    }
  }
}

/** `1-5` or `0`, as cron counts them from Sunday. */
const falls = (weekday: number, weekdays: string | undefined): boolean => {
  if (weekdays === undefined) return true;
  const [from = 0, to = from] = weekdays.split('-').map(Number);
  return weekday >= from && weekday <= to;
};
