/** Objects of parsed JSON. */
import { ExactNumber } from './json.ts';
import type { Json } from './request.ts';

export type JsonObject = Readonly<Record<string, Json>>;

export const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);
