/** The API as a page to read: made of the same document as `openapi.json`, with nothing loaded from anywhere. */

/** As much of an OpenAPI document as the page shows. */
interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema?: { readonly description?: string };
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses?: Readonly<Record<string, { readonly description?: string }>>;
}

interface Schema {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown; readonly description?: string }>>;
  readonly required?: readonly string[];
}

export function apiPage({ info, paths }: Document): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => section(method.toUpperCase(), path, operation)),
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${safe(info.title)}</title><style>${style}</style>
<main><h1>${safe(info.title)} <small>${safe(info.version)}</small></h1><p>${safe(info.description ?? '')}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a>.</p>
<pre>curl -X POST -H "Authorization: Bearer $TIDEMARK_API_TOKEN" http://127.0.0.1:8080/api/v1/dags/tracker/start
curl -H "Authorization: Bearer $TIDEMARK_API_TOKEN" http://127.0.0.1:8080/api/v1/dags/tracker/status</pre>
${operations.join('\n')}</main></html>
`;
}

function section(method: string, path: string, operation: Operation): string {
  const { summary = '', description, parameters = [], requestBody, responses = {} } = operation;
  const body = Object.values(requestBody?.content ?? {})[0]?.schema;
  const rows = [
    ...parameters.map((each) => [
      each.name,
      `${each.in}${each.required ? '' : ', optional'}`,
      each.description ?? each.schema?.description ?? '',
    ]),
    ...Object.entries(body?.properties ?? {}).map(([name, each]) => [
      name,
      `body${body?.required?.includes(name) ? '' : ', optional'}`,
      each.description ?? '',
    ]),
  ];
  const answers = Object.entries(responses).map(([code, each]) => [code, '', each.description ?? '']);
  return `<section><h2><b>${safe(method)}</b> <code>${safe(path)}</code></h2><p>${safe(summary)}. ${safe(description ?? '')}</p>
<table>${[...rows, ...answers].map((row) => `<tr>${row.map((cell, index) => (index === 0 ? `<th scope="row"><code>${safe(cell)}</code></th>` : `<td>${safe(cell)}</td>`)).join('')}</tr>`).join('')}</table></section>`;
}

const safe = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const style = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{margin:0}main{max-width:60rem;margin:2rem auto;padding:0 1rem}
h1 small{font-weight:400;opacity:.6;font-size:1rem}h2{font-size:1.05rem;margin:2rem 0 .25rem}pre{overflow-x:auto;padding:1rem;border:1px solid #8884;border-radius:.5rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-top:1px solid #8884;font-weight:400}section p{margin:.25rem 0}`;
