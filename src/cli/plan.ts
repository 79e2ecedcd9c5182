/** `--dry-run`: what a run would read. */
import type { Context } from './context.ts';
import { exit } from './exit.ts';
import type { Chosen } from './named-streams.ts';
import { progress } from './progress/choose.ts';
import { toJson } from './progress/json.ts';
import { runDeps } from './running.ts';
import { table } from './table.ts';
import { minute } from './text.ts';

/** Prints the plan of each pipeline; reads nothing but what the plan itself needs, writes no rows. */
export async function showPlan(
  context: Context,
  chosen: readonly Chosen[],
  options: {
    readonly full?: boolean;
    readonly window?: { readonly from: Date; readonly to: Date };
  },
): Promise<number> {
  const told = progress({ ...context, quiet: context.quiet || context.json, json: false });
  try {
    const { plan } = await import('../engine/preview.ts');
    const plans = [];
    for (const { pipeline, streams } of chosen) {
      const deps = await runDeps(context, pipeline, told);
      const planned = await plan(deps, { ...options, ...(streams === undefined ? {} : { streams }) });
      plans.push({ pipeline, streams: planned });
    }
    told.end();
    if (context.json) context.out.line(toJson({ plan: plans }, 2));
    else
      for (const { pipeline, streams } of plans) {
        const rows = streams.map((each) => [
          `${pipeline}.${each.stream}`,
          each.mode,
          each.from === undefined ? null : minute(each.from),
          each.to === undefined ? null : minute(each.to),
          each.slices,
          each.records ?? null,
          each.requests ?? null,
        ]);
        for (const line of table(heads, rows, context.out)) context.out.line(line);
        for (const { stream, why } of streams)
          if (why !== undefined) context.out.line(`${pipeline}.${stream}: everything is read again: ${why}`);
      }
    return exit.ok;
  } finally {
    told.end();
  }
}

const heads = [
  { title: 'STREAM' },
  { title: 'HOW' },
  { title: 'FROM (UTC)' },
  { title: 'TO (UTC)' },
  { title: 'SLICES', align: 'right' },
  { title: 'RECORDS', align: 'right' },
  { title: 'REQUESTS', align: 'right' },
] as const;
