import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Prompt } from '../protocol/prompts.ts';
import { qualifiedName } from '../source/program.ts';
import type { Definition } from '../source/program.ts';
import { ownerOf, reachedFrom, wrappedAgents } from '../source/wrappers.ts';
import { llmCalls } from '../source/frameworks.ts';
import { Collection } from './collection.ts';
import { Modules } from './modules.ts';
import type { Module, ReadFile } from './modules.ts';
import { Reach } from './reach.ts';
import { traceSinks } from './sinks.ts';
import { decodeUtf8 } from './text-file.ts';
import { Tracer } from './trace.ts';
import { Uses } from './uses.ts';

/**
 * The prompts that reach the calls of an agent, in order of file and place. Nothing is executed; the user's own files are
 * followed as far as imports and names tell.
 * @param workspace absolute path of the folder that paths are relative to
 * @param agentFile relative to it, with forward slashes
 * @param agentName after the colon of `path:name`; null: every agent of the file
 * @param readFile the text of a file by its path in the workspace, null when there is none; by default the file on disk
 */
export function findPrompts(workspace: string, agentFile: string, agentName: string | null, readFile: ReadFile = (path) => readFromDisk(workspace, path)): Prompt[] {
  const modules = new Modules(readFile);
  const module = modules.get(agentFile);
  return module === null ? [] : collect(modules, module, agentName);
}

/**
 * The prompts of one file, as far as it alone tells; those that no agent of the file is seen to use included (`agents` is empty).
 * Made for a text in the middle of an edit: milliseconds for a file of usual size.
 * @param fileName relative to the workspace, so that ids are those that `findPrompts` gives
 */
export function promptsIn(fileName: string, text: string): Prompt[] {
  const modules = new Modules((path) => (path === fileName ? text : null));
  const module = modules.get(fileName);
  return module === null ? [] : collect(modules, module, null, true);
}

function collect(modules: Modules, module: Module, agentName: string | null, wholeFile = false): Prompt[] {
  const found = new Collection(modules);
  const uses = new Uses(modules);
  const agents = agentName === null ? agentsOf(module) : [agentNamed(module, agentName)];
  for (const { name, definitions } of agents) trace(modules, uses, module, definitions, false, found, `${module.path}:${name}`);
  if (wholeFile) trace(modules, uses, module, [], true, found, null);
  return found.prompts();
}

function trace(modules: Modules, uses: Uses, module: Module, starts: Definition[], whole: boolean, found: Collection, agent: string | null): void {
  const reach = new Reach(modules, uses, module, starts, whole);
  traceSinks(new Tracer(modules, uses, reach, found.sinkFor(agent)));
}

/** The agents of a file as detection finds them: those that are wrapped, and other functions that call a model. */
function agentsOf({ program }: Module): { name: string; definitions: Definition[] }[] {
  const wrapped = wrappedAgents(program).map(({ name, definition }) => ({ name, definitions: definition === null ? [] : [definition] }));
  const parts = reachedFrom(program, wrapped.flatMap(({ definitions }) => definitions));
  const candidates = new Map(llmCalls(program).flatMap(({ call }) => ownerOf(call.definition) ?? []).map((owner) => [owner.name, owner.definition]));
  return [...wrapped, ...[...candidates].filter(([, definition]) => !parts.has(definition)).map(([name, definition]) => ({ name, definitions: [definition] }))];
}

function agentNamed(module: Module, name: string): { name: string; definitions: Definition[] } {
  const { definitions, exports } = module.program;
  const listed = exports.find((each) => each.name === name)?.value;
  const local = listed?.kind === 'name' ? listed.name : name;
  const definition = definitions.find((each) => each.kind === 'function' && qualifiedName(each) === local);
  return agentsOf(module).find((agent) => agent.name === name) ?? { name, definitions: definition === undefined ? [] : [definition] };
}

/** The text of a file of the workspace; null: there is none in UTF-8. */
export function readFromDisk(workspace: string, path: string): string | null {
  try {
    return decodeUtf8(readFileSync(join(workspace, path)));
  } catch {
    return null; // a name that is no file: an installed package, or a folder
  }
}
