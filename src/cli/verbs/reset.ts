import type { Verb } from '../context.ts';
import { exit } from '../exit.ts';
import { ownerOf } from '../owner.ts';
import { toJson } from '../progress/json.ts';
import { filled } from '../schema.ts';

/** Forgets a stream's watermark and open walks. */
export const reset: Verb<{ readonly stream: string; readonly pipeline?: string | undefined }> = async (
  context,
  { stream, pipeline },
) => {
  const warehouse = await filled(context);
  const owner = await ownerOf(warehouse.db, stream, pipeline);
  const { resetStream } = await import('../../engine/reset.ts');
  await resetStream(warehouse, owner.pipeline, owner.stream);
  if (context.json) context.out.line(toJson({ reset: owner }, 2));
  else if (!context.quiet)
    context.out.line(
      `${owner.pipeline}.${owner.stream} is reset: its rows stay, the next sync walks it whole.`,
    );
  return exit.ok;
};
