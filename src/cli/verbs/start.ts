import type { Verb } from '../context.ts';
import { configured } from '../pipelines.ts';

/** What `npm start` does: a sync of everything configured; where nothing is, the demo. */
export const start: Verb<object> = async (context) => {
  const config = await context.parts.config();
  if (configured(config).length > 0) return (await import('./sync.ts')).sync(context, { pipelines: [] });
  return (await import('./demo.ts')).demo(context, { seed: 7, issues: 5000 });
};
