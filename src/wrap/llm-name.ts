import type { AgentFunction } from './functions.ts';
import type { Site } from './sites.ts';
import { mentions } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

/** How the model of the run is called in a function: `llm`, unless the function uses that name for something else. */
export function llmName(source: Source, target: AgentFunction): string {
  for (const name of ['llm', 'trained_llm', 'run_llm']) {
    const candidate = source.language === 'python' ? name : camelCase(name);
    if (!mentions(source, target.node, candidate)) return candidate;
  }
  return source.language === 'python' ? 'agent_trainer_llm' : 'agentTrainerLlm';
}

const camelCase = (name: string): string => name.split('_').map((part, index) => (index === 0 ? part : (part[0] ?? '').toUpperCase() + part.slice(1))).join('');

/** Edits, openings and imports of all places, each made once. */
export function pointAll(sites: Site[], llm: string): { edits: { from: number; to: number; insert: string }[]; openings: string[]; imports: { module: string; name: string }[] } {
  const edits = new Map<string, { from: number; to: number; insert: string }>();
  const openings = new Map<string, string>();
  const imports = new Map<string, { module: string; name: string }>();
  for (const site of sites) {
    const pointing = site.point(llm);
    for (const edit of pointing.edits) edits.set(`${edit.from}:${edit.to}`, edit);
    for (const { name, text } of pointing.openings) openings.set(name, text);
    for (const each of pointing.imports) imports.set(`${each.module}:${each.name}`, each);
  }
  return { edits: [...edits.values()], openings: [...openings.values()], imports: [...imports.values()] };
}
