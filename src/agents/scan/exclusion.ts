import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import ignore from 'ignore';
import type { Ignore } from 'ignore';
import picomatch from 'picomatch';
import type { ScanFolder } from './protocol.ts';

/** Never looked into, whether ignored or not: what tools install and build. */
const skippedFolders = new Set(['node_modules', '.git', '.hg', '.svn', '.venv', 'venv', 'site-packages', '__pycache__', 'dist', 'build', 'out', '.agent-trainer']);

interface GitRules { base: string; rules: Ignore; outer: GitRules | null }
interface Glob { matches: (path: string) => boolean; when: string | null }

/** What a workspace folder leaves out: its `files.exclude`, and what the .gitignore files from the repository's root down say. */
export class Exclusion {
  readonly root: string;
  private readonly globs: Glob[];
  private readonly top: GitRules | null;

  constructor({ path, exclude }: ScanFolder) {
    this.root = path;
    this.globs = Object.entries(exclude).flatMap(([glob, use]) => (use === false ? [] : [{ matches: globMatcher(glob), when: use === true ? null : use.when }]));
    this.top = rulesAbove(path);
  }

  /** The rules inside a folder that is not left out itself. `outer`: those of the folder above it; left out for the root. */
  rulesIn(folder: string, outer: GitRules | null = this.top): GitRules | null {
    return withGitignore(folder, outer);
  }

  /** The rules inside a folder of the workspace folder, from those of its root down. */
  rulesDownTo(folder: string): GitRules | null {
    let at = this.root;
    let rules = this.rulesIn(at);
    for (const name of below(this.root, folder).split(sep)) {
      if (name === '') continue;
      at = join(at, name);
      rules = this.rulesIn(at, rules);
    }
    return rules;
  }

  /** `siblings`: the names in the same folder, which `when` clauses ask for. */
  leavesOut(path: string, isFolder: boolean, rules: GitRules | null, siblings: (name: string) => boolean): boolean {
    const name = basename(path);
    if (isFolder && skippedFolders.has(name)) return true;
    const inside = posix(below(this.root, path));
    if (this.globs.some(({ matches, when }) => matches(inside) && (when === null || siblings(when.replaceAll('$(basename)', withoutExtension(name)))))) return true;
    for (let at = rules; at !== null; at = at.outer) {
      const { ignored, unignored } = at.rules.test(posix(below(at.base, path)) + (isFolder ? '/' : ''));
      if (ignored) return true;
      if (unignored) return false; // the nearest file that speaks of it decides
    }
    return false;
  }

  /** Whether a path of this folder is looked at: neither it nor a folder above it is left out. */
  includes(path: string, isFolder: boolean): boolean {
    if (path === this.root) return true;
    const names = below(this.root, path).split(sep);
    let folder = this.root;
    let rules = this.rulesIn(folder);
    for (const [index, name] of names.entries()) {
      const at = join(folder, name);
      const isLast = index === names.length - 1;
      if (this.leavesOut(at, !isLast || isFolder, rules, (sibling) => existsSync(join(dirname(at), sibling)))) return false;
      if (!isLast) rules = this.rulesIn(at, rules);
      folder = at;
    }
    return true;
  }
}

/** A glob of VS Code: relative to the folder; a folder that matches is left out with all that is in it. */
function globMatcher(glob: string): (path: string) => boolean {
  return picomatch(glob.replace(/\/+$/, ''), { dot: true, nonegate: true, noext: true });
}

/** The rules a folder inherits: from the root of its git repository down to the folder above it. */
function rulesAbove(folder: string): GitRules | null {
  const above: string[] = [];
  let root: string | null = null;
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) root = at;
    if (at !== folder) above.unshift(at);
    if (root !== null || at === dirname(at)) break;
  }
  if (root === null) return null;
  let rules = withRules(root, join(root, '.git', 'info', 'exclude'), null);
  for (const at of above) rules = withGitignore(at, rules);
  return rules;
}

const withGitignore = (folder: string, outer: GitRules | null): GitRules | null => withRules(folder, join(folder, '.gitignore'), outer);

function withRules(base: string, file: string, outer: GitRules | null): GitRules | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return outer; // there is none
  }
  return { base, rules: ignore().add(text), outer };
}

/** The path of something inside a folder, from there. Much cheaper than path.relative, which is asked for every entry of a scan. */
const below = (folder: string, path: string): string => path.slice(folder.endsWith(sep) ? folder.length : folder.length + 1);
const posix = (path: string): string => (sep === '/' ? path : path.split(sep).join('/'));
const withoutExtension = (name: string): string => name.replace(/\.[^.]*$/, '');
