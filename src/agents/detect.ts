import { detectInPython } from './detect-python.ts';
import { detectInScript } from './detect-script.ts';

/** An agent found by reading its source; nothing is executed. Offsets count UTF-16 units from the start of the text. */
export interface DetectedAgent {
  /** The name after the colon of `path:name`; 'default' for a default export. */
  name: string;
  language: 'python' | 'node';
  /** Where its name (or, without one, its wrapper) stands. */
  from: number;
  to: number;
}

const scriptFile = /\.([cm]?)(ts|js)(x?)$/;

/** The languages whose files can hold agents, as file extensions. */
export const agentFileExtensions = ['py', 'ts', 'tsx', 'mts', 'cts', 'js', 'jsx', 'mjs', 'cjs'] as const;

/** The wrapped agents of a source text, in order. Tolerates syntax errors: the text may be in the middle of an edit. */
export function detectAgents(fileName: string, text: string): DetectedAgent[] {
  if (!text.includes('rollout')) return [];
  if (fileName.endsWith('.py')) return detectInPython(text);
  const script = scriptFile.exec(fileName);
  if (script === null || fileName.endsWith('.d.ts')) return [];
  return detectInScript(text, { typescript: script[2] === 'ts', jsx: script[3] === 'x' || script[2] === 'js' });
}
