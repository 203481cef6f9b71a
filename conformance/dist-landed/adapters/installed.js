import { readFileSync, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
/** The version of a package that is installed here, also of one whose exports hide its `package.json`. */
export function installedVersion(name) {
    const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
    const file = folders.map((folder) => join(folder, name, 'package.json')).find((path) => existsSync(path));
    if (file === undefined)
        throw new Error(`${name} is not installed; run npm ci`);
    return JSON.parse(readFileSync(file, 'utf8')).version;
}
//# sourceMappingURL=installed.js.map