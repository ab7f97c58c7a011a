import type { SyntaxNode } from '@lezer/common';
import type { Edit } from './edits.ts';
import type { AgentFunction } from './functions.ts';
import type { Imported } from './imports.ts';
import { importsOf } from './imports.ts';
import { pythonSites } from './sites-python.ts';
import { scriptSites } from './sites-script.ts';
import { assignmentsIn } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';

/** A statement that a function begins with from now on, and the name it sets. */
export interface Opening { name: string; text: string }
/** A name that must be imported beside the others of its module. */
export interface NeededImport { module: string; name: string }

/** How a place is pointed at the model of the run; `llm` is the expression that the model is known by there. */
export interface Pointing { edits: Edit[]; openings: Opening[]; imports: NeededImport[] }

/** A place in a function where a model is configured or asked. */
export interface Site {
  node: SyntaxNode;
  /** The library, for people: 'OpenAI', 'LangChain' … */
  client: string;
  /** Something is sent to a model here; otherwise a client is only made. */
  isCall: boolean;
  /** What is sent: arguments that become the prompt. */
  prompt: SyntaxNode[];
  /** A service whose model nobody else can serve: its calls cannot be pointed anywhere. */
  service: string | null;
  /** What ties the place to one server, key or model: a literal, or (nothing said: the library's default server) the place itself. null: it is said elsewhere. */
  fixed: SyntaxNode | null;
  point(llm: string): Pointing;
}

/** What recognising needs to know of the file and the function. */
export interface Scope {
  source: Source;
  body: SyntaxNode;
  imports: Map<string, Imported>;
  module: Map<string, SyntaxNode>;
  local: Map<string, SyntaxNode>;
  /** Names under which the model of the run is known in the function: calls that mention one are pointed at it already. */
  injected: string[];
}

export const nothing: Pointing = { edits: [], openings: [], imports: [] };

const modules = new WeakMap<Source, Pick<Scope, 'imports' | 'module'>>();

function scopeOf(source: Source, body: SyntaxNode, injected: string[]): Scope {
  const known = modules.get(source) ?? { imports: importsOf(source), module: assignmentsIn(source, source.root) };
  modules.set(source, known);
  return { source, body, ...known, local: assignmentsIn(source, body), injected };
}

/** The places of a function (functions inside it included) that are recognised, in order. */
export function sitesOf(source: Source, target: AgentFunction, injected: string[] = []): Site[] {
  const scope = scopeOf(source, target.body, injected);
  return source.language === 'python' ? pythonSites(scope) : scriptSites(scope);
}
