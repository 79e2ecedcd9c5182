import type { Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { toJson } from '../progress/json.ts';
import { applySteps, pendingSteps, soon } from '../schema.ts';
import { plural } from '../text.ts';

/** Applies the steps of the schema that are missing, or only names them. */
export const migrate: Verb<{ readonly dryRun?: boolean | undefined }> = async (context, { dryRun }) => {
  const { out, err, parts, signal, json, quiet } = context;
  if (!quiet && !json) err.line('opening the warehouse');
  const warehouse = await parts.warehouse(soon);
  const steps = dryRun ? await pendingSteps(warehouse) : await applySteps(warehouse, signal);
  if (json) {
    out.line(toJson({ warehouse: warehouse.address, [dryRun ? 'pending' : 'applied']: steps }, 2));
    return exit.ok;
  }
  for (const step of steps) out.line(`${dryRun ? 'would apply' : 'applied'} ${step}`);
  if (steps.length === 0) out.line(`The schema of ${warehouse.address} is up to date.`);
  else if (!quiet)
    err.line(`${plural(steps.length, 'step')} ${dryRun ? 'to apply to' : 'applied to'} ${warehouse.address}`);
  return exit.ok;
};
