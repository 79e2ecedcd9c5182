import { type Condition, JqlError, type Operand, type Operator, type OrderTerm, parseJql } from './jql.ts';
import { type DateTongue, dateOf } from './jql-dates.ts';
import type { Issue } from './model.ts';
import type { TrackerState } from './state.ts';
import type { Store } from './store.ts';

/** What the search index knows of one issue. */
interface Entry {
  readonly position: number;
  readonly created: number;
  readonly updated: number;
  readonly projectId: string;
  readonly number: number;
  /** The entire issue as the index knows it: dear, asked for only by rare conditions. */
  issue(): Issue;
}

type Test = (entry: Entry) => boolean;

/** One found issue. `stale` is what the index shows instead of its newest state. */
export interface Hit {
  readonly position: number;
  readonly stale: Issue | undefined;
}

/** The found issues in order. */
export interface Found {
  readonly hits: readonly Hit[];
  /** True if the query had any condition (the vendor refuses others). */
  readonly bounded: boolean;
  /** Where in the order an issue stands, as text; given back to `after`. */
  position(hit: Hit): string;
  /** The index of the first hit behind a position, whether or not the issue at that position is still found. */
  after(position: string): number;
}

/** What this server's search can do and how it speaks. */
export interface SearchRules {
  readonly updatedFilter: boolean;
  readonly epochDates: boolean;
  /** True: asking for an issue by a key or id that is not there is an error, as at the vendor. */
  readonly strictKeys: boolean;
}

const aliases: Readonly<Record<string, string>> = {
  createddate: 'created',
  updateddate: 'updated',
  issuekey: 'key',
  id: 'key',
  issue: 'key',
  type: 'issuetype',
  label: 'labels',
};

const compares: Readonly<Partial<Record<Operator, (a: number, b: number) => boolean>>> = {
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
};

const unsupported = (field: string, operator: string): JqlError =>
  new JqlError(`The operator '${operator}' is not supported by the '${field}' field.`);

const unknown = (field: string): JqlError =>
  new JqlError(`Field '${field}' does not exist or you do not have permission to view it.`);

/** Membership tests: `=`, `!=`, `in`, `not in`, `is empty`, `is not empty` over the values an issue has in a field. */
const membership = (
  field: string,
  operator: Operator,
  operands: readonly Operand[],
  values: (entry: Entry) => readonly string[],
): Test => {
  if (operator === 'is' || operator === 'is not') {
    const word = operands[0]?.text.toLowerCase();
    if (word !== 'empty' && word !== 'null')
      throw new JqlError(`The operator '${operator}' only supports EMPTY and NULL for the field '${field}'.`);
    return (entry) => (values(entry).length === 0) === (operator === 'is');
  }
  const wanted = new Set(operands.map((one) => one.text.toLowerCase()));
  const has: Test = (entry) => values(entry).some((one) => wanted.has(one.toLowerCase()));
  if (operator === '=' || operator === 'in') return has;
  // An issue without a value is in neither of the two.
  if (operator === '!=' || operator === 'not in') return (entry) => values(entry).length > 0 && !has(entry);
  throw unsupported(field, operator);
};

const compile = (state: TrackerState, rules: SearchRules, dates: DateTongue) => {
  const byKey = (name: string, operator: Operator, operands: readonly Operand[]): Test => {
    const positions = operands.map(({ text }) => {
      const position = /^\d+$/.test(text) ? state.store.find(text) : state.store.findKey(text.toUpperCase());
      const seen =
        position !== undefined &&
        state.store.isLive(position) &&
        state.projects.get(state.store.projectId(position))?.hidden !== true;
      if (seen) return position;
      if (rules.strictKeys)
        throw new JqlError(
          /^\d+$/.test(text)
            ? `A value with ID '${text}' does not exist for the field '${name}'.`
            : `An issue with key '${text}' does not exist for field '${name}'.`,
        );
      return -1;
    });
    if (operator === '=' || operator === 'in') {
      const wanted = new Set(positions);
      return (entry) => wanted.has(entry.position);
    }
    if (operator === '!=' || operator === 'not in') {
      const wanted = new Set(positions);
      return (entry) => !wanted.has(entry.position);
    }
    const compare = compares[operator];
    const position = positions[0] ?? -1;
    if (compare === undefined) throw unsupported(name, operator);
    // Keys are compared by number, within the project of the key.
    if (position === -1) return () => false;
    const projectId = state.store.projectId(position);
    const number = state.store.number(position);
    return (entry) => entry.projectId === projectId && compare(entry.number, number);
  };

  const clause = (name: string, operator: Operator, operands: readonly Operand[]): Test => {
    const field = aliases[name] ?? name;
    if (field === 'created' || field === 'updated') {
      if (field === 'updated' && !rules.updatedFilter) throw unknown(name);
      const compare = compares[operator];
      const first = operands[0];
      if (compare === undefined || first === undefined) throw unsupported(name, operator);
      const at = dateOf(name, first, dates);
      return field === 'created'
        ? (entry) => compare(entry.created, at)
        : (entry) => compare(entry.updated, at);
    }
    if (field === 'project') {
      const ids = operands.map(({ text }) => {
        const lower = text.toLowerCase();
        const found = [...state.projects.values()].find(
          (one) => one.id === text || one.key.toLowerCase() === lower || one.name.toLowerCase() === lower,
        );
        if (found === undefined || found.hidden)
          throw new JqlError(`The value '${text}' does not exist for the field 'project'.`);
        return { text: found.id, quoted: true };
      });
      return membership(name, operator, ids, (entry) => [entry.projectId]);
    }
    if (field === 'key') return byKey(name, operator, operands);
    const valuesOf: Readonly<Record<string, (issue: Issue) => readonly (string | undefined | null)[]>> = {
      labels: (issue) => issue.labels,
      status: (issue) => [issue.statusId, state.statuses.get(issue.statusId)?.name],
      statuscategory: (issue) => {
        const category = state.statuses.get(issue.statusId)?.category;
        return [category, category === 'new' ? 'To Do' : category === 'done' ? 'Done' : 'In Progress'];
      },
      issuetype: (issue) => [issue.typeId, state.issueTypes.get(issue.typeId)?.name],
      priority: (issue) => [issue.priorityId, state.priorities.get(issue.priorityId)?.name],
      resolution: (issue) =>
        issue.resolutionId === null
          ? []
          : [issue.resolutionId, state.resolutions.get(issue.resolutionId)?.name],
      assignee: (issue) => [issue.assigneeId],
      reporter: (issue) => [issue.reporterId],
      sprint: (issue) => issue.sprintIds.flatMap((id) => [String(id), state.sprints.get(id)?.name]),
      parent: (issue) => (issue.parentId === null ? [] : [issue.parentId, state.keyOf(issue.parentId)]),
    };
    const values = Object.hasOwn(valuesOf, field) ? valuesOf[field] : undefined;
    if (values === undefined) throw unknown(name);
    // The vendor refuses a sprint that it does not know.
    const isUnknown = (text: string): boolean => /^\d+$/.test(text) && !state.sprints.has(Number(text));
    if (field === 'sprint' && rules.strictKeys && operands.some(({ text }) => isUnknown(text)))
      throw new JqlError('Sprint does not exist or you do not have permission to view it.');
    return membership(name, operator, operands, (entry) =>
      values(entry.issue()).filter((one) => typeof one === 'string'),
    );
  };

  const test = (condition: Condition): Test => {
    if (condition.kind === 'clause') return clause(condition.field, condition.operator, condition.operands);
    if (condition.kind === 'not') {
      const inner = test(condition.part);
      return (entry) => !inner(entry);
    }
    const parts = condition.parts.map(test);
    return condition.kind === 'and'
      ? (entry) => parts.every((one) => one(entry))
      : (entry) => parts.some((one) => one(entry));
  };
  return test;
};

type Rank = readonly (string | number)[];

/** Where an issue stands: one value a term, the id last so that no two stand at the same position. */
const ranking = (state: TrackerState, order: readonly OrderTerm[]): ((entry: Entry) => Rank) => {
  const key = (entry: Entry): Rank => [state.projects.get(entry.projectId)?.key ?? '', entry.number];
  const terms = order.map((term): ((entry: Entry) => Rank) => {
    const field = aliases[term.field] ?? term.field;
    if (field === 'key') return key;
    if (field === 'created') return (entry) => [entry.created];
    if (field === 'updated') return (entry) => [entry.updated];
    if (field === 'rank') return (entry) => [entry.position];
    throw new JqlError(
      `Field '${term.field}' does not exist or this field cannot be used in the ORDER BY clause.`,
    );
  });
  if (terms.length === 0) terms.push(key);
  return (entry) => [...terms.flatMap((term) => term(entry)), entry.position];
};

/** The direction of each value of a rank. */
const directions = (order: readonly OrderTerm[]): readonly number[] => [
  ...order.flatMap((term) =>
    ((aliases[term.field] ?? term.field) === 'key' ? [0, 0] : [0]).map(() => (term.descending ? -1 : 1)),
  ),
  ...(order.length === 0 ? [1, 1] : []),
  1,
];

const compareRanks = (a: Rank, b: Rank, signs: readonly number[]): number => {
  for (const [index, mine] of a.entries()) {
    const other = b[index];
    if (other === undefined || mine === other) continue;
    return (mine < other ? -1 : 1) * (signs[index] ?? 1);
  }
  return 0;
};

/** The live issues that a query may find, in the order of their keys: those of its sprint or of its window of creation, else all. */
const candidates = (store: Store, where: Condition | undefined, dates: DateTongue): readonly number[] => {
  const parts = where?.kind === 'and' ? where.parts : where === undefined ? [] : [where];
  let from = Number.NEGATIVE_INFINITY;
  let to = Number.POSITIVE_INFINITY;
  for (const part of parts) {
    const [operand] = part.kind === 'clause' ? part.operands : [];
    if (part.kind !== 'clause' || operand === undefined) continue;
    const field = aliases[part.field] ?? part.field;
    if (field === 'sprint' && part.operator === '=' && /^\d+$/.test(operand.text))
      return store.inOrder(store.inSprint(Number(operand.text)));
    if (field !== 'created') continue;
    const at = dateOf(part.field, operand, dates);
    if (part.operator === '>' || part.operator === '>=') from = Math.max(from, at);
    if (part.operator === '<' || part.operator === '<=') to = Math.min(to, at);
  }
  return store.createdIn(from, to);
};

/** Runs a query over what the index shows now; issues at the positions in `fresh` are looked at as they really are. Throws JqlError. */
export const find = (
  state: TrackerState,
  jql: string,
  rules: SearchRules,
  dates: DateTongue,
  fresh: readonly number[] = [],
): Found => {
  const query = parseJql(jql);
  const { store } = state;
  const test = query.where === undefined ? () => true : compile(state, rules, dates)(query.where);
  const rankOf = ranking(state, query.order);
  const signs = directions(query.order);
  const lagging = new Map(state.lagging());
  for (const at of fresh) lagging.delete(at);
  const hidden = new Set([...state.projects.values()].filter((one) => one.hidden).map((one) => one.id));

  // One entry moved along: 200,000 objects a query would cost more than the query.
  let position = 0;
  const cursor: Entry = {
    get position() {
      return position;
    },
    get created() {
      return store.created(position);
    },
    get updated() {
      return store.updated(position);
    },
    get projectId() {
      return store.projectId(position);
    },
    get number() {
      return store.number(position);
    },
    issue: () => store.at(position),
  };
  const frozen = (at: number, issue: Issue): Entry => ({
    position: at,
    created: issue.created,
    updated: issue.updated,
    projectId: issue.projectId,
    number: issue.number,
    issue: () => issue,
  });
  const entryOf = (hit: Hit): Entry => {
    if (hit.stale !== undefined) return frozen(hit.position, hit.stale);
    position = hit.position;
    return cursor;
  };

  let hits: Hit[] = [];
  for (const at of candidates(store, query.where, dates)) {
    if (lagging.size > 0 && lagging.has(at)) continue;
    position = at;
    if (hidden.size > 0 && hidden.has(store.projectId(at))) continue;
    if (test(cursor)) hits.push({ position: at, stale: undefined });
  }
  let sorted = true;
  for (const [at, issue] of lagging) {
    if (issue === undefined || hidden.has(issue.projectId)) continue;
    if (!test(frozen(at, issue))) continue;
    hits.push({ position: at, stale: issue });
    sorted = false;
  }
  const onlyKey =
    query.order.length === 0 || (aliases[query.order[0]?.field ?? ''] ?? query.order[0]?.field) === 'key';
  if (sorted && onlyKey) {
    // They come in the order of their keys already.
    if (query.order[0]?.descending === true) hits.reverse();
  } else {
    const ranked = hits.map((hit) => ({ hit, rank: rankOf(entryOf(hit)) }));
    ranked.sort((a, b) => compareRanks(a.rank, b.rank, signs));
    hits = ranked.map((one) => one.hit);
  }
  return {
    hits,
    bounded: query.where !== undefined,
    position: (hit) => JSON.stringify(rankOf(entryOf(hit))),
    after: (position) => {
      const target = rankFrom(position);
      let low = 0;
      let high = hits.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        const hit = hits[middle];
        if (hit !== undefined && compareRanks(rankOf(entryOf(hit)), target, signs) <= 0) low = middle + 1;
        else high = middle;
      }
      return low;
    },
  };
};

const rankFrom = (position: string): Rank => {
  const value: unknown = JSON.parse(position);
  if (!Array.isArray(value)) throw new JqlError('The position is not one of this order.');
  return value.map((one: unknown) => (typeof one === 'number' ? one : String(one)));
};
