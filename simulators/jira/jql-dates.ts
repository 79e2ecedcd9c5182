import { JqlError, type Operand } from './jql.ts';
import { instantIn } from './zones.ts';

/** How this server reads dates. */
export interface DateTongue {
  /** The zone of the account that asks. */
  readonly zone: string;
  /** Epoch ms of the tracker's clock, for `now()` and `-5m`. */
  readonly now: number;
  /** False: a bare number is no date here. */
  readonly epoch: boolean;
}

const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

const literal = /^(\d{4})([/-])(\d{1,2})\2(\d{1,2})(?: (\d{1,2}):(\d{2}))?$/;

/**
 * The instant a date operand means, epoch ms. A literal (`yyyy/MM/dd HH:mm`, `yyyy-MM-dd HH:mm`, without a time: midnight) is civil time
 * of the account's zone; an unquoted number is epoch milliseconds; `-5m`, `2w` are relative to now (vendor-facts 1.2). Throws JqlError.
 */
export const dateOf = (field: string, operand: Operand, tongue: DateTongue): number => {
  const { text, quoted } = operand;
  if (text === 'now()') return tongue.now;
  if (!quoted && tongue.epoch && /^-?\d+$/.test(text)) return Number(text);
  const relative = /^([+-]?\d+)([mhdw])$/.exec(text);
  if (relative !== null) return tongue.now + Number(relative[1]) * (units[relative[2] ?? ''] ?? Number.NaN);
  const parts = literal.exec(text);
  if (parts !== null) {
    const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = [
      parts[1],
      parts[3],
      parts[4],
      parts[5],
      parts[6],
    ].map((one) => Number(one ?? 0));
    const wall = Date.UTC(year, month - 1, day, hour, minute);
    const back = new Date(wall);
    // Date.UTC rolls over: 30 February would become 1 March.
    if (back.getUTCMonth() === month - 1 && back.getUTCDate() === day && hour < 24 && minute < 60)
      return instantIn(tongue.zone, wall);
  }
  throw new JqlError(
    `Date value '${text}' for field '${field}' is invalid. Valid formats include: 'yyyy/MM/dd HH:mm', 'yyyy-MM-dd HH:mm', 'yyyy/MM/dd', 'yyyy-MM-dd', or a period format e.g. '-5d', '4w 2d'.`,
  );
};
