import { readFileSync, statSync } from 'node:fs';
import { basename, extname, isAbsolute, resolve } from 'node:path';
import { TrainerError } from '../protocol/errors.ts';

export interface AgentSpec {
  language: 'python' | 'node';
  /** Absolute path. */
  file: string;
  /** null: the only agent of the file. */
  name: string | null;
}

const languages: Record<string, AgentSpec['language']> = {
  '.py': 'python', '.ts': 'node', '.mts': 'node', '.cts': 'node', '.tsx': 'node', '.js': 'node', '.mjs': 'node', '.cjs': 'node', '.jsx': 'node',
};

/** Reads `path[:name]`, the path relative to `cwd`. Throws TrainerError 'bad_input' naming the file and the agents found in it. */
export function resolveAgent(text: string, cwd: string): AgentSpec {
  // A drive letter (C:\agent.py) is no separator: what follows the last colon must be a name.
  const match = /^(.*?)(?::([\p{ID_Start}_$][\p{ID_Continue}$]*(?:\.[\p{ID_Start}_$][\p{ID_Continue}$]*)?))?$/u.exec(text);
  const path = match?.[1] ?? text;
  const name = match?.[2] ?? null;
  const file = resolve(cwd, path);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    throw new TrainerError('bad_input', `There is no agent file ${file}. Give the agent as path[:name]${isAbsolute(path) ? '' : `, relative to ${cwd}`}.`);
  }
  const language = languages[extname(file)];
  if (!language) throw new TrainerError('bad_input', `${file} is neither Python nor TypeScript or JavaScript. An agent lives in a file ending in ${Object.keys(languages).join(', ')}.`);
  const found = namesIn(readFileSync(file, 'utf8'), language);
  if (name === null && found.length > 1) {
    throw new TrainerError('bad_input', `${file} has several agents (${found.join(', ')}). Choose one, for example ${basename(file)}:${found[0]}.`);
  }
  return { language, file, name };
}

const wrapped = {
  python: /^@(?:\w+\.)?rollout\b[^\n]*\n(?:@[^\n]*\n)*(?:async\s+)?def\s+(\w+)/gm,
  node: /^export\s+(?:const|let|var)\s+([\w$]+)[^=\n]*=\s*rollout\s*[(<]/gm,
};

/** Agents that can be seen without running the file. Others (re-exports, classes) show when the worker has loaded it. */
function namesIn(source: string, language: AgentSpec['language']): string[] {
  return [...source.matchAll(wrapped[language])].map((match) => match[1]!);
}
