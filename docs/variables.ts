/** The texts of docs/reference/variables.md. Their links lead from that page. */

/** What each variable means. */
export const meanings: Readonly<Record<string, string>> = {
  DATABASE_URL:
    'The warehouse: `postgres://user:password@host:5432/database?sslmode=verify-full`, or `host=… dbname=…`, read as psql reads it; see [Connection strings](../guides/postgres.md#connection-strings). Absent: the embedded Postgres',
  TIDEMARK_SECRET_KEY:
    '32 characters or more (`openssl rand -base64 32`), the same on every machine. Encrypts the refresh tokens that sources renew, which are then kept in the warehouse (`ops.kept_secrets`) for all machines. Absent: they stay under `TIDEMARK_HOME` of one machine',
  TIDEMARK_HOME: 'Directory for what Tidemark keeps on disk; relative to where the command is started',
  TRACKER_BASE_URL:
    'e.g. `https://example.atlassian.net`. Without it the tracker is not configured. Must be the final address: redirects are not followed. For a scoped API token, and with `oauth` at Jira Cloud: `https://api.atlassian.com/ex/jira/{cloudId}` (the id is in `https://example.atlassian.net/_edge/tenant_info`). Jira Data Center: with its path, e.g. `https://jira.example.com/jira`; see [Connect Jira Data Center](../guides/jira-data-center.md)',
  TRACKER_EMAIL: 'The account; at Jira Data Center its user name',
  TRACKER_API_TOKEN:
    'An API token of that account; at Jira Data Center a personal access token (`bearer`), or the password',
  TRACKER_API_TOKEN_EXPIRES:
    'The day on which that token ends, such as `2027-01-31`: `check`, each run and `status` warn from 14 days before. A Data Center server says it by itself',
  TRACKER_AUTH:
    'How to sign in: `basic` (e-mail and API token, or user name and password), `bearer` (a personal access token of a Data Center server in `TRACKER_API_TOKEN`, without an e-mail), `oauth` (client credentials: `TRACKER_CLIENT_ID`)',
  TRACKER_CLIENT_ID: 'With `oauth`: the id of the client, e.g. of a service account',
  TRACKER_CLIENT_SECRET: 'With `oauth`: its secret. Access tokens are renewed before they expire',
  TRACKER_TOKEN_URL:
    'With `oauth`: where access tokens come from; a Data Center server: `https://…/rest/oauth2/latest/token`',
  TRACKER_SCOPE: 'With `oauth`: the scope to ask for; Data Center wants one',
  TRACKER_JQL:
    'A further filter, e.g. `project in (WEB, APP)`; without ORDER BY. Changing it reads everything again; rows that it no longer covers stay as they were, and reconcile counts them',
  TRACKER_START:
    'History begins here (by `created`): a day of UTC or an instant. Changing it reads everything again',
  TRACKER_CHANGES:
    'How changes are found: `updated`, `created`, or `auto`, which asks the server; see [reading.md](../guides/reading.md#sync)',
  TRACKER_CREATED_WINDOW_DAYS: 'With `created`: how many days are read again in each run',
  TRACKER_LOOKBACK_HOURS:
    'How far behind the watermark a run begins; see [reading.md](../guides/reading.md#lookback)',
  TRACKER_GROUPS: 'Groups whose members are read where the server lists no groups, separated by commas',
  TRACKER_STORY_POINTS_FIELDS:
    'The fields that hold story points, by id or name, separated by commas, where the site has its own; the first that is filled counts. See [Which field is which](../guides/reading.md#which-field-is-which)',
  TRACKER_SPRINT_FIELDS: 'The same as `TRACKER_STORY_POINTS_FIELDS`, of sprints',
  TRACKER_EPIC_LINK_FIELDS: 'The same, of the key of the epic',
  TRACKER_FLAGGED_FIELDS: 'The same, of the flag of what is impeded',
  TRACKER_TEAM_FIELDS: 'The same, of the team',
  TRACKER_START_DATE_FIELDS: 'The same, of the day on which work starts',
  TRACKER_EXCLUDE:
    'Streams to leave out, e.g. `users,groups`; or single owners, `boards:7,projects:WEB`; see [Leaving streams and owners out](../operations.md#leaving-streams-and-owners-out)',
  TRACKER_ROTATE:
    'Streams read owner by owner in turn, with requests or minutes a run: `group_members:500` or `group_members:30m`; see [Owners in turn](../operations.md#owners-in-turn)',
  TRACKER_CONCURRENCY: 'Requests at once, 1 to 64',
  TRACKER_REQUESTS_PER_SECOND:
    'Requests a second at most, of all endpoints together; 0: as many as the server allows. Rate limits of the server are kept in any case',
  TIDEMARK_PIPELINES:
    'Folder of [pipeline files](../guides/pipelines.md). Absent: `pipelines` in the working directory, else those that come with Tidemark',
  TIDEMARK_SCHEDULE:
    'When `serve` starts `nightly`: five cron fields. A pipeline file that has a schedule of its own keeps it',
  TIDEMARK_TIME_ZONE: 'The time zone (IANA name) in which schedules are read',
  TIDEMARK_REPORTING_TIME_ZONE:
    'The time zone (IANA name) of every `*_date` and week of `bi`. All processes of a warehouse should have the same; a change derives the stored facts anew',
  TIDEMARK_REPORTING_CURRENCY:
    'ISO 4217 code: the currency of the columns `*_in_reporting_currency`, with the rates of `ref.fx_rates`',
  TIDEMARK_WORKING_DAYS: 'On which days people work; holidays are in `ref.holidays`',
  TIDEMARK_FISCAL_YEAR_START: 'The month in which the fiscal year begins',
  TIDEMARK_BI_NAMES: '`pseudonyms`: `bi` shows people by a pseudonym',
  TIDEMARK_BI_RESTRICTED_ISSUES: '`shown`: `bi` shows issues with a security level, too',
  TIDEMARK_RUN_HOURS:
    'How long one run may take; it then ends as failed (`deadline` or `rate_limited`), keeps what it has, and the next run goes on',
  LOG_LEVEL:
    'JSON log lines on stderr, in place of the live display: `trace`, `debug`, `info`, `warn`, `error`, `fatal`. Absent or `silent`: none; absent with `--verbose`: `debug`',
  ADS_BASE_URL: 'e.g. `https://api-partner.spotify.com/ads/v3`. Without it the platform is not configured',
  ADS_ACCESS_TOKEN:
    'An access token. Without one, `ADS_CLIENT_ID`, `ADS_CLIENT_SECRET`, `ADS_REFRESH_TOKEN` and `ADS_TOKEN_URL` obtain and renew access tokens',
  ADS_CLIENT_ID: 'The id of the client that renews access tokens',
  ADS_CLIENT_SECRET: 'The secret of that client',
  ADS_REFRESH_TOKEN:
    'A new one that the platform returns is kept in the warehouse with `TIDEMARK_SECRET_KEY`, else under `TIDEMARK_HOME`, readable by its owner alone. A newly configured one wins',
  ADS_TOKEN_URL: "Where tokens are renewed; gets the client's id and secret, never an access token",
  ADS_ACCOUNT_IDS:
    'Accounts to read, separated by commas; absent: all those of the businesses that the token sees',
  ADS_SDK_HEADER:
    'Header that names the client; its value is `tidemark/<version>`. At `spotify.com` and its subdomains `X-Spotify-Ads-Sdk`, elsewhere `X-Service-Ads-Sdk`; set it where a proxy of your own is between',
  ADS_START: 'The history of reports begins here',
  ADS_EXCLUDE: 'Streams to leave out, or single ad accounts, `ad_accounts:ID`',
  ADS_ROTATE:
    'Streams read owner by owner in turn, with requests or minutes a run: `insight_reports:18000` or `insight_reports:90m`; see [Owners in turn](../operations.md#owners-in-turn)',
  ADS_CONCURRENCY: 'Requests at once, 1 to 64',
  ADS_REQUESTS_PER_SECOND:
    'Requests a second at most, of all endpoints together (the vendor allows 1500 in 30 seconds); 0: as many as the server allows. Rate limits of the server are kept in any case',
  ADS_REPORT_REQUESTS_PER_SECOND:
    'Requests for reports a second at most (the vendor allows 150 in 30 seconds). They count as requests, too',
  ADS_REPORT_HOSTS:
    "Hosts besides the platform's own from which finished reports may be fetched: over https, without credentials",
  ADS_RESTATE_DAYS: 'How many days of reports are read again each day, each week and each month (30 days)',
  WORKFLOW_BASE_URL: 'The workflow engine, without `/api/v1`',
  WORKFLOW_TOKEN: 'A token or an API key, where the engine asks for one',
  WORKFLOW_USERNAME: 'The user name instead, where the engine has Basic authentication',
  WORKFLOW_PASSWORD: 'The password of that user',
  WORKFLOW_REMOTE_NODE: 'The remote node to ask, by its name at the engine; absent: the engine itself',
  WORKFLOW_DAGS:
    'DAGs to read, separated by commas; absent: all that Dagu lists (other engines have no list: name their DAGs)',
  WORKFLOW_EXCLUDE: 'Streams to leave out, or single DAGs, `dags:nightly`',
  WORKFLOW_ROTATE: 'Streams read owner by owner in turn',
  WORKFLOW_CONCURRENCY: 'Requests at once, 1 to 64',
  WORKFLOW_REQUESTS_PER_SECOND: 'Requests a second at most; 0: as many as the engine allows',
  TIDEMARK_HOST: 'Where `serve` listens; others only with a token',
  TIDEMARK_PORT: 'The port of `serve`',
  TIDEMARK_API_TOKEN: 'Required if the host is not this machine itself; printable ASCII without blanks',
  TIDEMARK_READ_TOKEN: 'A second token, read only',
  TIDEMARK_JOBS:
    'How many runs a `serve` process or a `sync` does at once, 1 to 64. Each has up to 14 connections of its own to the warehouse, usually five; `serve` has nine besides. `check` and the log of `serve` say where Postgres allows fewer than that (`max_connections`)',
  TIDEMARK_JOBS_PER_SITE:
    'How many runs all `serve` processes together, or a `sync`, do at once of pipelines that read the same site (the same base URL), 1 to 64. More hardly help: their requests share its rate limit',
  TIDEMARK_STUCK_MINUTES: 'A run without progress for so long is `stuck`, and a message is sent',
  TIDEMARK_WEBHOOK_URL:
    'Gets a message when the state of a pipeline changes; see [alerts](../guides/alerts.md#messages)',
  TIDEMARK_WEBHOOK_SECRET: 'Signs the messages to `TIDEMARK_WEBHOOK_URL`',
  TIDEMARK_SLACK_WEBHOOK_URL: 'An incoming webhook of Slack, or of what understands its messages',
  TIDEMARK_PAGERDUTY_ROUTING_KEY:
    'The integration key (32 letters and digits) of an Events API v2 integration of PagerDuty',
  TIDEMARK_PAGERDUTY_REGION: 'The service region of the PagerDuty account: `us` or `eu`',
  TIDEMARK_SMTP_URL:
    'The mail server: `smtps://user:password@smtp.example.com`, or `smtp://…:587`, which must offer STARTTLS unless it is this machine. Special characters are percent-encoded. Needs `TIDEMARK_EMAIL_FROM` and `TIDEMARK_EMAIL_TO`',
  TIDEMARK_EMAIL_FROM: "The sender's address",
  TIDEMARK_EMAIL_TO: "The recipients' addresses, separated by commas",
  HTTPS_PROXY:
    'The proxy for https: `http://user:password@proxy.example:3128`; see [Security](../operations.md#security). SOCKS is not supported (warning)',
  HTTP_PROXY: 'The proxy for http',
  NO_PROXY:
    'What is reached directly, separated by commas: `example.com` (and all below it), `*.example.com`, an address, `10.0.0.0/8`, `*` for everything; each may end with `:port`',
};

/** Defaults that depend on the machine or on another variable. */
export const variableDefaults: Readonly<Record<string, string>> = {
  TIDEMARK_HOME: '`.tidemark`',
  TIDEMARK_JOBS: 'twice the cores, 2 to 8',
  ADS_SDK_HEADER: 'by host',
};
