import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const source = /\.(py|[cm]?[jt]sx?|json|ya?ml|toml|txt|md|j2|jinja2?|prompt)$/;
const foreign = new Set(['node_modules', '__pycache__', 'venv', 'dist', 'build']);
const mostFiles = 2000;

/**
 * SHA-256 over what an agent of the workspace may be made of: its sources and text files, without installed packages and hidden folders.
 * null: there are more than can be read for every run. Data files in the same folder count too, which only means that less is reused.
 */
export function fingerprintCode(workspace: string): string | null {
  const files: string[] = [];
  const visit = (folder: string): boolean => readdirSync(folder, { withFileTypes: true }).every((entry) => {
    if (entry.name.startsWith('.') || foreign.has(entry.name)) return true;
    if (entry.isDirectory()) return visit(path.join(folder, entry.name));
    if (entry.isFile() && source.test(entry.name)) files.push(path.join(folder, entry.name));
    return files.length <= mostFiles;
  });
  try {
    if (!visit(workspace)) return null;
    const hash = createHash('sha256');
    for (const file of files.sort()) hash.update(`${path.relative(workspace, file)}\0`).update(readFileSync(file));
    return hash.digest('hex');
  } catch {
    return null; // a folder that may not be read, or a file that went meanwhile
  }
}
