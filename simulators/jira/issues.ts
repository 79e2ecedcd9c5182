import type { Random } from '../shared/random.ts';
import type { Company } from './company.ts';
import { ownValues } from './fields.ts';
import {
  type Adf,
  adf,
  type Change,
  type ChangeItem,
  type Comment,
  EPIC,
  FLAGGED,
  type Issue,
  type Link,
  POINTS,
  type Project,
  SPRINT,
  type User,
  type Worklog,
} from './model.ts';
import type { Plan } from './plan.ts';
import { circumstances, labels, sentences, things, verbs } from './words.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** The id of the issue at this position; ids grow with the time of creation. */
export const idOf = (index: number): string => String(10001 + index);

/** The position of an issue id; NaN for what is no such id. */
export const placeOf = (id: string): number => (/^\d+$/.test(id) ? Number(id) - 10001 : Number.NaN);

/** Ids of the children of one issue: so many are kept free for the issue's generated history, comments and worklogs. */
export const childIds = (index: number, child: number): string => String(100_000 + index * 256 + child);

/** One change of one field, as the changelog tells it. */
export const change = (
  field: string,
  fieldId: string,
  from: readonly [id: string | null, text: string | null],
  to: readonly [id: string | null, text: string | null],
): ChangeItem => ({
  field,
  fieldtype: fieldId.startsWith('customfield_') ? 'custom' : 'jira',
  fieldId,
  from: from[0],
  fromString: from[1],
  to: to[0],
  toString: to[1],
});

/** The two items that a move to another project leaves. */
export const moveItems = (
  from: Project,
  fromKey: string,
  to: Project,
  toKey: string,
): readonly ChangeItem[] => [
  change('project', 'project', [from.id, from.name], [to.id, to.name]),
  change('Key', 'issuekey', [null, fromKey], [null, toKey]),
];

const list = (r: Random, count: number): Adf['content'][number] => ({
  type: 'bulletList',
  content: Array.from({ length: count }, () => ({
    type: 'listItem',
    content: [{ type: 'paragraph', content: [{ type: 'text', text: r.pick(sentences) }] }],
  })),
});

const describe = (r: Random, who: User): Adf => {
  const content: unknown[] = [
    {
      type: 'paragraph',
      content: [
        { type: 'text', text: r.pick(sentences) },
        { type: 'hardBreak' },
        { type: 'text', text: r.pick(sentences) },
      ],
    },
  ];
  if (r.chance(0.4)) content.push(list(r, 2 + r.int(2)));
  if (r.chance(0.15))
    content.push({
      type: 'codeBlock',
      attrs: { language: 'sql' },
      content: [{ type: 'text', text: 'select *\nfrom orders\nwhere total < 0;' }],
    });
  if (r.chance(0.2))
    content.push({
      type: 'paragraph',
      content: [
        { type: 'mention', attrs: { id: who.accountId, text: `@${who.displayName}` } },
        { type: 'text', text: ' please have a look.', marks: [{ type: 'strong' }] },
      ],
    });
  return { type: 'doc', version: 1, content };
};

const options: Readonly<Record<string, readonly string[]>> = {
  customfield_10030: ['Atlas', 'Borealis', 'Comet', 'Drift'],
  customfield_10031: ['iOS', 'Android', 'Web', 'Point of sale'],
  customfield_10042: ['S1', 'S2', 'S3', 'S4'],
};

const option = (r: Random, field: string): { readonly id: string; readonly value: string } => {
  const values = options[field] ?? ['Yes'];
  const index = r.int(values.length);
  return { id: String(Number(field.slice(-5)) * 10 + index), value: values[index] ?? '' };
};

const day = (at: number): string => new Date(at).toISOString().slice(0, 10);

const customValues = (
  r: Random,
  index: number,
  at: { created: number; done: number | undefined },
  people: readonly User[],
  epic: string | null,
): Record<string, unknown> => ({
  ...(epic === null ? {} : { [EPIC]: epic }),
  customfield_10019: `0|i${(index * 7 + 1000).toString(36).padStart(5, '0')}:`,
  ...(r.chance(0.03) ? { [FLAGGED]: [{ id: '10019', value: 'Impediment' }] } : {}),
  ...(r.chance(0.6) ? { customfield_10030: option(r, 'customfield_10030') } : {}),
  ...(r.chance(0.2) ? { customfield_10031: [option(r, 'customfield_10031')] } : {}),
  ...(r.chance(0.3) ? { customfield_10032: r.pick(people).accountId } : {}),
  ...(r.chance(0.1)
    ? { customfield_10033: [...new Set([r.pick(people).accountId, r.pick(people).accountId])] }
    : {}),
  ...(r.chance(0.2) ? { customfield_10034: day(at.created + r.int(60) * DAY) } : {}),
  ...(at.done !== undefined && r.chance(0.3) ? { customfield_10035: at.done + r.int(3 * DAY) } : {}),
  ...(r.chance(0.1)
    ? {
        customfield_10036: {
          id: '10360',
          value: 'Revenue',
          child: { id: String(10361 + r.int(2)), value: 'Europe' },
        },
      }
    : {}),
  ...(r.chance(0.15) ? { customfield_10037: ['beta', 'été'].slice(0, 1 + r.int(2)) } : {}),
  ...(r.chance(0.1) ? { customfield_10038: `https://design.example.com/file/${index}?node=1%3A2` } : {}),
  ...(r.chance(0.1) ? { customfield_10039: adf(r.pick(sentences)) } : {}),
  ...(r.chance(0.1) ? { customfield_10040: `C-${10_000 + r.int(90_000)}` } : {}),
  ...(r.chance(0.25) ? { customfield_10041: Math.round(r.next() * 1000) / 10 } : {}),
  ...(r.chance(0.25) ? { customfield_10042: option(r, 'customfield_10042') } : {}),
  ...(r.chance(0.1) ? { customfield_10043: 'legacy squad' } : {}),
});

/**
 * Builds one issue after the other, each from its own seed: any of them, in any order. `history`: about how many changes each has;
 * each `longEvery`-th has 220 in any case.
 */
export const issueMaker = (
  company: Company,
  plan: Plan,
  history: number,
  longEvery = Number.POSITIVE_INFINITY,
): ((index: number) => Issue) => {
  const people = company.users.filter((one) => one.accountType === 'atlassian');
  const apps = company.users.filter((one) => one.accountType === 'app');
  const typeIds = new Map(company.issueTypes.map((one) => [one.name, one.id]));
  const statusNames = new Map(company.statuses.map((one) => [one.id, one.name]));
  const priorityNames = new Map(company.priorities.map((one) => [one.id, one.name]));
  const projectAt = (index: number): Project => {
    const project = company.projects[index];
    if (project === undefined) throw new RangeError(`there is no project ${index}`);
    return project;
  };
  const keyAt = (index: number): string => `${projectAt(plan.project[index] ?? 0).key}-${plan.number[index]}`;

  return (index) => {
    const sketch = plan.sketch(index);
    const r = sketch.random;
    const { created, started, done } = sketch;
    const updated = plan.updated[index] ?? sketch.updated;
    const within = (): number => created + Math.floor(r.next() * (updated - created));
    const project = projectAt(plan.project[index] ?? 0);
    const origin = projectAt(sketch.project);
    const parent = plan.parent[index] ?? -1;
    const type = sketch.type === 'Sub-task' && parent === -1 ? 'Task' : sketch.type;
    const reporter = r.chance(0.93) ? r.pick(people) : r.pick(apps);
    const events: { at: number; author: string | null; items: readonly ChangeItem[] }[] = [];
    const tell = (
      at: number,
      items: readonly ChangeItem[],
      author: string | null = r.pick(people).accountId,
    ): void => {
      events.push({ at, author, items });
    };

    const assignee =
      started !== undefined
        ? r.chance(0.96)
          ? r.pick(people)
          : undefined
        : r.chance(0.3)
          ? r.pick(people)
          : undefined;
    if (assignee !== undefined)
      tell(
        started ?? within(),
        [change('assignee', 'assignee', [null, null], [assignee.accountId, assignee.displayName])],
        assignee.accountId,
      );

    let status = sketch.sprints.length > 0 ? '10000' : '10001';
    const go = (to: string, at: number, more: readonly ChangeItem[] = []): void => {
      const item = change(
        'status',
        'status',
        [status, statusNames.get(status) ?? null],
        [to, statusNames.get(to) ?? null],
      );
      tell(at, [item, ...more], assignee?.accountId ?? null);
      status = to;
    };
    let had: string[] = [];
    let hadNames: string[] = [];
    for (const [nth, { sprint, at }] of sketch.sprints.entries()) {
      const ids = [...had, String(sprint.id)];
      const titles = [...hadNames, sprint.name];
      tell(at, [
        change('Sprint', SPRINT, [had.join(', '), hadNames.join(', ')], [ids.join(', '), titles.join(', ')]),
      ]);
      if (nth === 0) go('10001', at);
      had = ids;
      hadNames = titles;
    }
    const resolution =
      done === undefined ? undefined : r.chance(0.92) ? company.resolutions[0] : r.pick(company.resolutions);
    if (started !== undefined) {
      go('3', started);
      const until = done ?? updated;
      const between = (share: number): number => Math.floor(started + (until - started) * share);
      if (r.chance(0.12)) {
        go('10003', between(0.2));
        go('3', between(0.4));
      }
      if (r.chance(0.06) && done !== undefined) {
        go('10004', between(0.5), [change('resolution', 'resolution', [null, null], ['10300', 'Done'])]);
        go('3', between(0.6), [change('resolution', 'resolution', ['10300', 'Done'], [null, null])]);
      }
      if (r.chance(0.65) && until > started) go('10002', between(0.8));
      if (done !== undefined && resolution !== undefined) {
        const item = change('resolution', 'resolution', [null, null], [resolution.id, resolution.name]);
        go(resolution.name === "Won't Do" ? '10005' : '10004', done, [item]);
      }
    }

    const oldKeys: string[] = [];
    for (const move of plan.moves.get(index) ?? []) {
      const from = projectAt(move.from.project);
      const to = projectAt(move.to.project);
      const oldKey = `${from.key}-${move.from.number}`;
      tell(move.at, moveItems(from, oldKey, to, `${to.key}-${move.to.number}`));
      oldKeys.push(oldKey);
    }
    const points =
      type !== 'Epic' && type !== 'Sub-task' && r.chance(0.7) ? r.pick([1, 2, 3, 5, 8, 13, 0.5]) : null;
    if (points !== null)
      tell(within(), [change('Story point estimate', POINTS, [null, null], [null, String(points)])]);
    const priority = r.pick(['1', '2', '2', '3', '3', '3', '3', '4', '5']);
    const isLong = index % longEvery === longEvery - 1;
    const fillers = (isLong ? 220 : index % 197 === 11 ? 45 : 0) + r.int(2 * Math.max(0, history - 5) + 1);
    for (let n = 0; n < fillers; n++) {
      const was = r.pick(company.priorities);
      const kind = r.int(4);
      const item =
        kind === 0
          ? change(
              'priority',
              'priority',
              [was.id, was.name],
              [priority, priorityNames.get(priority) ?? null],
            )
          : kind === 1
            ? change('Rank', 'customfield_10019', ['', ''], ['', 'Ranked higher'])
            : kind === 2
              ? change('labels', 'labels', [null, ''], [null, r.pick(labels)])
              : change('description', 'description', [null, r.pick(sentences)], [null, r.pick(sentences)]);
      tell(within(), [item], r.chance(0.02) ? null : r.pick(people).accountId);
    }

    const commentCount = index % 197 === 12 ? 25 + r.int(20) : Math.min(12, Math.floor(r.around(1.2)));
    const comments: Comment[] = Array.from({ length: commentCount }, (_, n) => {
      const authorId = r.pick(people).accountId;
      const at = within();
      const edited = r.chance(0.1);
      return {
        id: childIds(index, n),
        authorId,
        updateAuthorId: authorId,
        body: adf(r.pick(sentences), ...(r.chance(0.3) ? [r.pick(sentences)] : [])),
        created: at,
        updated: edited ? Math.min(at + HOUR, updated) : at,
      };
    })
      .sort((a, b) => a.created - b.created)
      .map((one, n) => ({ ...one, id: childIds(index, n) }));
    const worklogCount =
      index % 197 === 13
        ? 22 + r.int(20)
        : started === undefined
          ? 0
          : Math.min(8, Math.floor(r.around(0.9)));
    const worklogs: Worklog[] = Array.from({ length: worklogCount }, () => within())
      .sort((a, b) => a - b)
      .map((at, n) => {
        const authorId = assignee?.accountId ?? r.pick(people).accountId;
        return {
          id: childIds(index, n),
          authorId,
          updateAuthorId: authorId,
          comment: r.chance(0.5) ? adf(r.pick(sentences)) : undefined,
          started: at - r.int(8) * HOUR,
          seconds: (1 + r.int(16)) * 1800,
          created: at,
          updated: at,
        };
      });

    const quiet = updated > created && !events.some((one) => one.at === updated);
    if (quiet) tell(updated, [change('Rank', 'customfield_10019', ['', ''], ['', 'Ranked lower'])]);
    // Fewer changes than a life has: the company is cut short for measurements, not for reading.
    const short = history < 5;
    const changes: Change[] = events
      .sort((a, b) => a.at - b.at)
      .map((one, n) => ({
        id: childIds(index, n),
        authorId: one.author ?? undefined,
        at: one.at,
        items: one.items,
      }))
      .slice(isLong ? -220 : short ? Math.max(0, events.length - history) : 0);
    // Nobody tells of a former key but the change that took it away.
    const isTold = (key: string): boolean =>
      changes.some(({ items }) => items.some(({ fromString }) => fromString === key));

    const links: readonly Link[] = (plan.links.get(index) ?? []).map((one) => ({
      id: one.id,
      typeId: company.linkTypes[one.type]?.id ?? '',
      direction: one.direction,
      otherId: idOf(one.other),
    }));
    const epic = parent !== -1 && type !== 'Sub-task' ? keyAt(parent) : null;
    const spent = worklogs.reduce((all, one) => all + one.seconds, 0);
    const estimate = r.chance(0.3) ? (1 + r.int(40)) * 3600 : null;
    return {
      id: idOf(index),
      projectId: project.id,
      number: plan.number[index] ?? 0,
      typeId: typeIds.get(type) ?? '',
      statusId: status,
      priorityId: priority,
      resolutionId: resolution?.id ?? null,
      summary: `${r.pick(verbs)} ${r.pick(things)} ${r.pick(circumstances)}`,
      description: r.chance(0.85) ? describe(r, reporter) : null,
      creatorId: reporter.accountId,
      reporterId: reporter.accountId,
      assigneeId: assignee?.accountId ?? null,
      created,
      updated,
      resolved: done ?? null,
      due: r.chance(0.2) ? day(created + r.int(90) * DAY) : null,
      labels: r.chance(0.5) ? [...new Set(Array.from({ length: 1 + r.int(3) }, () => r.pick(labels)))] : [],
      componentIds: r.chance(0.5) ? [r.pick(project.components).id] : [],
      fixVersionIds: done !== undefined && r.chance(0.4) ? [r.pick(project.versions).id] : [],
      parentId: parent === -1 ? null : idOf(parent),
      links,
      sprintIds: sketch.sprints.map((one) => one.sprint.id),
      storyPoints: points,
      originalSeconds: estimate,
      remainingSeconds: estimate === null ? null : Math.max(0, estimate - spent),
      custom: {
        ...customValues(r, index, { created, done }, people, origin === project ? epic : null),
        ...ownValues(r, project.id),
      },
      history: changes,
      comments: short ? [] : comments,
      worklogs: short ? [] : worklogs,
      oldKeys: oldKeys.filter(isTold),
    };
  };
};
