import { detectAgents } from '../agents/detect.ts';
import { mayHoldAgent } from '../agents/prefilter.ts';
import type { Edit } from './edits.ts';
import { applyEdits, sorted } from './edits.ts';
import type { AgentFunction } from './functions.ts';
import { functionAt, functionOfAgent, functionsOf } from './functions.ts';
import type { Translator } from './messages.ts';
import { sitesOf } from './sites.ts';
import type { Site } from './sites.ts';
import { descendants, nodesOf, parseSource, textOf } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';
import { wrapPython } from './wrap-python.ts';
import { wrapScript } from './wrap-script.ts';

/** What an edit is for: the import, the mark and its parameter are the signature; pointing changes what the function does. */
export type Part = 'import' | 'wrapper' | 'parameter' | 'pointing';
export interface PlannedEdit extends Edit { part: Part }

/** How a function becomes an agent. */
export interface Plan {
  kind: 'plan';
  /** The agent's name afterwards. */
  agent: string;
  edits: PlannedEdit[];
  /** What the user has to know or still to do; translated. */
  notes: string[];
}
/** Why it cannot; translated. */
export interface Refusal { kind: 'refusal'; reason: string }

export const refuse = (reason: string): Refusal => ({ kind: 'refusal', reason });

/** A function to make trainable: by its line (from 0), and its name where the line has moved meanwhile. */
export interface Target { line: number; name?: string | undefined }

/** A function that asks a model, or calls one that does, and is no agent yet. */
export interface Candidate { target: AgentFunction; direct: boolean; plan: (l10n: Translator) => Plan | Refusal }

/** Plans making the function at a place trainable. Reads only; the edits are for exactly this text. */
export function planWrap(l10n: Translator, fileName: string, text: string, target: Target): Plan | Refusal {
  const source = parseSource(fileName, text);
  if (source === null) return refuse(l10n.t('Only functions of Python, TypeScript and JavaScript files can be made trainable.'));
  const functions = functionsOf(source);
  const found = findTarget(source, functions, target);
  if (found === undefined) return refuse(l10n.t('There is no function at this place.'));
  const agents = detectAgents(fileName, text).map((agent) => functionOfAgent(source, functions, agent)?.node.from);
  if (agents.includes(found.node.from)) return refuse(l10n.t('{0} is trainable already.', found.name));
  return planFor(l10n, source, found, sitesOf(source, found));
}

function planFor(l10n: Translator, source: Source, target: AgentFunction, sites: Site[]): Plan | Refusal {
  if (hasErrors(target)) return refuse(l10n.t('The function does not parse at the moment; mend it first.'));
  const plan = source.language === 'python' ? wrapPython(l10n, source, target, sites) : wrapScript(l10n, source, target, sites);
  if (plan.kind === 'refusal') return plan;
  if (overlap(plan.edits)) return refuse(l10n.t('{0} is written in a way that cannot be changed safely; add rollout by hand.', target.name));
  const callers = callersOf(l10n, source, target);
  if (callers.length > 0) plan.notes.push(l10n.t('{0} is called by {1}, which hands in no model: hand one in there, or make that trainable instead.', target.name, callers.join(', ')));
  const services = [...new Set(sites.flatMap(({ service }) => service ?? []))];
  for (const service of services) plan.notes.push(l10n.t('The model behind {0} cannot be reached: the prompts of this agent can be tuned, but the model cannot be trained.', service));
  return plan;
}

/** Who calls the function in its file, and cannot as before: it has a parameter more. */
function callersOf(l10n: Translator, source: Source, target: AgentFunction): string[] {
  const functions = functionsOf(source);
  const calling = nodesOf(source.root, ['CallExpression']).filter(({ from, to, firstChild }) => firstChild?.name === 'VariableName' && textOf(source, firstChild) === target.name && !(target.node.from <= from && to <= target.node.to));
  return [...new Set(calling.map(({ from }) => functionAt(functions, from)?.name ?? l10n.t('the module')))];
}

function overlap(edits: readonly Edit[]): boolean {
  return sorted(edits).some((edit, index, all) => edit.from < (all[index - 1]?.to ?? 0));
}

export const planned = (part: Part, edits: readonly Edit[]): PlannedEdit[] => edits.map((edit) => ({ ...edit, part }));

/** Whether the plan changes more than the signature. */
export const touchesBody = (plan: Plan): boolean => plan.edits.some(({ part }) => part === 'pointing');

export const wrapped = (text: string, plan: Plan): string => applyEdits(text, plan.edits);

/** The functions of a file that could become agents. */
export function candidatesOf(fileName: string, text: string): Candidate[] {
  const source = mayHoldAgent(text) ? parseSource(fileName, text) : null;
  if (source === null) return [];
  const functions = functionsOf(source);
  const agents = new Set(detectAgents(fileName, text).map((agent) => functionOfAgent(source, functions, agent)?.node.from));
  const open = functions.filter(({ kind }) => kind !== 'nested').map((target) => ({ target, sites: sitesOf(source, target) }));
  const asking = new Set(open.filter(({ sites }) => sites.some(({ isCall }) => isCall)).map(({ target }) => target.name));
  const direct = new Set(asking);
  for (let size = -1; size !== asking.size;) {
    size = asking.size;
    for (const { target } of open) if (calls(source, target).some((name) => asking.has(name))) asking.add(target.name);
  }
  return open.filter(({ target }) => asking.has(target.name) && !agents.has(target.node.from))
    .map(({ target, sites }) => ({ target, direct: direct.has(target.name), plan: (l10n) => planFor(l10n, source, target, sites) }));
}

function calls(source: Source, target: AgentFunction): string[] {
  return [...descendants(target.body)].flatMap((node) => (node.name === 'CallExpression' && node.firstChild?.name === 'VariableName' ? [textOf(source, node.firstChild)] : []));
}

function findTarget(source: Source, functions: AgentFunction[], { line, name }: Target): AgentFunction | undefined {
  const starts = lineStarts(source.text);
  const from = starts[line] ?? source.text.length;
  const to = (starts[line + 1] ?? source.text.length + 1) - 1;
  const onLine = functions.filter(({ at }) => from <= at.from && at.from <= to);
  const named = name === undefined ? undefined : onLine.find((each) => each.name === name) ?? functions.find((each) => each.name === name && each.kind !== 'nested') ?? functions.find((each) => each.name === name);
  return named ?? onLine[0] ?? functionAt(functions, to) ?? functionAt(functions, from);
}

export function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function hasErrors(target: AgentFunction): boolean {
  for (const node of descendants(target.node)) if (node.type.isError) return true;
  return false;
}
