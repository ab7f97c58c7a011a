import { isAgentFile, scriptFile } from './agent-files.ts';
import { mayHoldAgent } from './prefilter.ts';
import type { Reason } from './reason.ts';
import { llmCalls } from '../../trainer/source/frameworks.ts';
import type { Framework, LLMCall } from '../../trainer/source/frameworks.ts';
import { written } from '../../trainer/source/program.ts';
import type { Program } from '../../trainer/source/program.ts';
import { readPython } from '../../trainer/source/read-python.ts';
import { readScript } from '../../trainer/source/read-script.ts';
import { ownerOf, reachedFrom, wrappedAgents } from '../../trainer/source/wrappers.ts';

/** An agent found by reading its source; nothing is executed. Offsets count UTF-16 units from the start of the text, lines from 0. */
export interface DetectedAgent {
  /** `wrapped`: can be run and trained as it is. `candidate`: a function that calls a model. */
  kind: 'wrapped' | 'candidate';
  /** The name after the colon of `path:name`: `name`, `Class.method`, or 'default' for a default export. */
  name: string;
  language: 'python' | 'node';
  /** Where its name (or, without one, its wrapper) stands. */
  from: number;
  to: number;
  line: number;
  /** How it reaches its model; for a wrapped agent that leaves this to other files, the library that wraps it. */
  framework: Framework | 'Agent Trainer' | 'Agent Lightning';
  reason: Reason;
}

/** The wrapped agents of a source text, in order. Parses at once: not for the thread of the extension host, see AgentReader. */
export function detectAgents(fileName: string, text: string): DetectedAgent[] {
  return detect(fileName, text).filter((agent) => agent.kind === 'wrapped');
}

/** The wrapped agents and the candidates of a source text, in order. Tolerates syntax errors: the text may be in the middle of an edit. */
export function detect(fileName: string, text: string): DetectedAgent[] {
  if (!isAgentFile(fileName) || !mayHoldAgent(text)) return [];
  const program = readUnlessTooDeep(fileName, text);
  if (program === null) return [];
  const lineOf = lines(text);
  const calls = llmCalls(program);
  const wrapped = wrappedAgents(program);
  const { language } = program;
  const found: DetectedAgent[] = [];
  for (const { name, at, by, wrapper, library, definition } of wrapped) {
    const reached = reachedFrom(program, definition === null ? [] : [definition]);
    const framework = calls.find(({ call }) => isIn(reached, ownerOf(call.definition)?.definition))?.framework ?? library;
    found.push({ kind: 'wrapped', name, language, from: at.from, to: at.to, line: lineOf(at.from), framework, reason: { by, wrapper, line: lineOf(at.from) } });
  }
  // What a wrapped agent calls is a part of it, not another agent.
  const parts = reachedFrom(program, wrapped.flatMap(({ definition }) => definition ?? []));
  const seen = new Set<object>();
  for (const { call, framework } of calls) {
    const owner = ownerOf(call.definition);
    if (owner === null || parts.has(owner.definition) || seen.has(owner.definition)) continue;
    seen.add(owner.definition);
    found.push(candidate(owner.name, owner.definition.at, { call, framework }, language, lineOf, text));
  }
  return found.sort((a, b) => a.from - b.from);
}

const isIn = <T>(set: Set<T>, member: T | undefined): boolean => member !== undefined && set.has(member);

function candidate(name: string, at: { from: number; to: number }, { call, framework }: LLMCall, language: DetectedAgent['language'], lineOf: (offset: number) => number, text: string): DetectedAgent {
  // A chain of calls is written over several lines: the line of the method is the one to show.
  const end = call.at.to - (/\w*$/.exec(text.slice(call.at.from, call.at.to))?.[0].length ?? 0);
  return {
    kind: 'candidate', name, language, from: at.from, to: at.to, line: lineOf(at.from), framework,
    reason: { by: 'llm-call', callee: written(call.value.of) + (framework === 'HTTP' ? '(…/chat/completions)' : ''), line: lineOf(end), ...call.at },
  };
}

/** null: nested so deeply that the parser, which recurses, ran out of stack; written by no one, so no agent. */
function readUnlessTooDeep(fileName: string, text: string): Program | null {
  try {
    return read(fileName, text);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function read(fileName: string, text: string): Program {
  if (fileName.endsWith('.py')) return readPython(text);
  const script = scriptFile.exec(fileName);
  return readScript(text, { typescript: script?.[2] === 'ts', jsx: script?.[3] === 'x' || script?.[2] === 'js' });
}

/** The line of an offset, from 0. */
function lines(text: string): (offset: number) => number {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  };
}
