import { createHash } from 'node:crypto';
import records from './records.json' with { type: 'json' };

/** A record as GitHub writes it: an issue, a comment, or a label, which has no dates. */
export type Row = { id: number; created_at?: string; updated_at?: string; [more: string]: unknown };

export const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
const idOf = (name: string): number => Number.parseInt(hash(name).slice(0, 7), 16);
const people = ['octocat', 'ada', 'grace', 'linus', 'margaret', 'barbara', 'edsger', null];

/** What the server shows. Each change stamps `updated_at` with the clock, in whole seconds as GitHub does. */
export class World {
  readonly issues = new Map<number, Row>();
  readonly comments = new Map<number, readonly Row[]>();
  readonly labels = new Map<string, Row>();
  /** Issues that are no longer here: null for a deleted one, its record for a transferred one. */
  readonly gone = new Map<number, Row | null>();
  readonly #api: string;
  #nextId = 3_000_000_000;
  #ahead = 0;
  #seeding: number | undefined;

  /** `count` issues of 2025. Some are pull requests, some have no author, each fiftieth has 120 comments. */
  constructor(api: string, count: number, seed: number) {
    this.#api = api;
    for (let n = 1; n <= count; n++) {
      const dice = Buffer.from(hash(`${seed} ${n}`), 'hex');
      const [body = 0, who = 0, pull = 0, labels = 0, replies = 0, open = 0] = dice;
      this.#seeding = Date.UTC(2025, 0, 1) + (n / count) * 365 * 86_400_000;
      this.open(`Issue ${n}`, body < 50 ? null : `Body of ${n}`, people[who % 8], pull < 50);
      this.relabel(n, ['bug', 'documentation', 'question'].slice(labels % 4));
      for (let left = n % 50 === 7 ? 120 : replies % 4; left > 0; left--) {
        this.#seeding += (replies + 1) * 60_000;
        this.comment(n, `${left - 1} more follow`, people[left % 8]);
      }
      if (open < 100) this.close(n);
    }
    this.#seeding = undefined;
  }

  /** Milliseconds since 1970: the machine's clock, put forward by `advance`. */
  now = (): number => this.#seeding ?? Date.now() + this.#ahead;
  advance = (ms: number): number => (this.#ahead += ms);
  #time = (): string => new Date(this.now()).toISOString().replace(/\.\d+/, '');

  /** A record of records.json with these members; they, and `words`, replace `{name}` in its texts. */
  record(kind: keyof typeof records, members: object = {}, words: object = {}) {
    const known = new Map<string, unknown>(Object.entries({ ...members, ...words }));
    const word = (name: string) => (name === 'api' ? this.#api : encodeURIComponent(String(known.get(name))));
    const text = JSON.stringify(records[kind]).replaceAll(/\{(\w+)\}/g, (_, name) => word(name));
    return { ...JSON.parse(text), ...members };
  }
  user = (login: string | null) => login && this.record('user', { login, id: idOf(login) });
  #written(author: string | null) {
    const now = this.#time();
    return { id: this.#nextId++, user: this.user(author), created_at: now, updated_at: now };
  }
  #change(number: number, change: object): Row {
    const issue = this.issues.get(number);
    if (issue === undefined) throw new Error(`there is no issue ${number}`);
    return Object.assign(issue, change, { updated_at: this.#time() });
  }

  /** Returns the number of the new issue. */
  open(title: string, body: string | null = null, author: string | null = 'octocat', pull = false): number {
    const number = this.issues.size + this.gone.size + 1;
    const issue = this.record('issue', { ...this.#written(author), number, title, body });
    this.issues.set(number, { ...issue, ...(pull && this.record('pull', {}, { number })) });
    return number;
  }
  comment(number: number, body: string, author: string | null = 'octocat'): void {
    const earlier = this.comments.get(number) ?? [];
    this.#change(number, { comments: earlier.length + 1 });
    const comment = this.record('comment', { ...this.#written(author), body }, { number });
    this.comments.set(number, [...earlier, comment]);
  }
  close(number: number): void {
    const state_reason = this.issues.get(number)?.pull_request === undefined ? 'completed' : null;
    this.#change(number, { state: 'closed', state_reason, closed_at: this.#time() });
  }
  /** Replaces the labels of an issue. The repository gets those that it did not have. */
  relabel(number: number, names: readonly string[]): void {
    const label = (name: string) =>
      this.record('label', { id: idOf(name), name, color: hash(name).slice(0, 6) });
    for (const name of names) this.labels.set(name, label(name));
    this.#change(number, { labels: names.map(label) });
  }
  remove(number: number, transferred: Row | null = null): void {
    this.#change(number, {});
    this.gone.set(number, transferred);
    this.issues.delete(number);
    this.comments.delete(number);
  }
  /** Moves an issue to the repository octocat/archive, which the token may read. */
  transfer(number: number): void {
    const issue = JSON.stringify(this.#change(number, { id: this.#nextId++ }));
    this.remove(number, JSON.parse(issue.replaceAll('octocat/hello-world', 'octocat/archive')));
  }
}
