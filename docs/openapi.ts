import { openapi } from '../src/server/api/openapi.ts';

/** The text of docs/openapi.json. The version is left out: it would make the page stale with every release. */
export const openapiDocument = (): string => `${JSON.stringify(openapi('v1'), null, 2)}\n`;
