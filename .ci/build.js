// Makes `dist/`, what the package holds: `src`, `simulators` and `pipelines` as JavaScript with types and source maps, and the files that they
// read at run time, in the places where they look for them.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
execFileSync(process.execPath, [tsc, '--project', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
for (const name of ['migrations', 'src/server/dashboard/assets', '.env.example', 'package.json'])
  cpSync(join(root, name), join(dist, name), { recursive: true });
await bundleLibraries(['kysely', 'undici', 'zod']);

/**
 * Puts libraries of a hundred files and more into one file each, with what `dist` imports of them: more than half of the files that every
 * command loads (a third of its start-up time). Their types stay where they are.
 */
async function bundleLibraries(names) {
  const vendor = join(dist, 'vendor');
  mkdirSync(vendor);
  const own = new RegExp(`import \\{([^}]*)\\} from '(${names.join('|')})';`, 'g');
  const imported = new Map(names.map((name) => [name, new Set()]));
  for (const name of readdirSync(dist, { recursive: true }).filter((file) => file.endsWith('.js'))) {
    const file = join(dist, name);
    const text = readFileSync(file, 'utf8');
    const bundled = text.replace(own, (_, members, library) => {
      for (const member of members.split(',')) imported.get(library).add(member.trim().split(' as ')[0]);
      const path = relative(dirname(file), join(vendor, `${library}.js`)).replaceAll('\\', '/');
      return `import {${members}} from '${path}';`;
    });
    if (bundled !== text) writeFileSync(file, bundled);
    const left = names.find((library) =>
      new RegExp(`^import .*'${library}'|import\\('${library}'`, 'm').test(bundled),
    );
    if (left !== undefined) throw new Error(`${name} imports ${left} in a way that is not bundled`);
  }
  for (const [library, members] of imported) {
    const entry = join(vendor, `${library}.entry.js`);
    writeFileSync(entry, `export { ${[...members].sort().join(', ')} } from '${library}';\n`);
    const bundle = await rolldown({ input: entry, platform: 'node', cwd: root });
    await bundle.write({ file: join(vendor, `${library}.js`), format: 'esm', comments: { legal: true } });
    rmSync(entry);
    cpSync(join(root, 'node_modules', library, 'LICENSE'), join(vendor, `${library}.LICENSE`));
  }
}
