/** Links of a built site that lead nowhere. Addresses outside of it are not asked. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const decoded = (text: string): string => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"');

/** Each as `page: link`. */
export function deadLinks(site: string): readonly string[] {
  const texts = new Map(
    globSync('**/*.html', { cwd: site }).map((name) => [name, readFileSync(path.join(site, name), 'utf8')]),
  );
  const idsOf = (name: string): ReadonlySet<string> =>
    new Set([...(texts.get(name) ?? '').matchAll(/ id="([^"]*)"/g)].map(([, id = '']) => decoded(id)));
  const ids = new Map([...texts.keys()].map((name) => [name, idsOf(name)]));
  return [...texts].flatMap(([name, text]) =>
    [...text.matchAll(/ (?:href|src)="([^"]*)"/g)].flatMap(([, raw = '']) => {
      const link = decoded(raw);
      if (/^[a-z]+:/i.test(link)) return [];
      const [to = '', anchor] = link.split('#');
      const found = to === '' ? name : path.normalize(path.join(path.dirname(name), decodeURI(to)));
      const isThere = existsSync(path.join(site, found));
      const isMarked =
        anchor === undefined || anchor === '' || ids.get(found)?.has(decodeURIComponent(anchor)) === true;
      return isThere && isMarked ? [] : [`${name}: ${link}`];
    }),
  );
}
