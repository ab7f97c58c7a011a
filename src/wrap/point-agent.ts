import type { Edit } from './edits.ts';
import { insertion } from './edits.ts';
import type { AgentFunction } from './functions.ts';
import { scriptImport } from './import-script.ts';
import { pointAll } from './llm-name.ts';
import { styleOf } from './script-style.ts';
import type { Site } from './sites.ts';
import { children, itemsOf, textOf } from '../../trainer/source/syntax.ts';
import type { Source } from '../../trainer/source/syntax.ts';
import { parameterEdits as pythonParameter, parametersOf, pointPython } from './wrap-python.ts';
import { contextParameter, openingEdits, parameterEdits as scriptParameter } from './wrap-script.ts';

/** Names by which an agent knows the model of its run and what comes with it. */
export function injectedNames(source: Source, target: AgentFunction): string[] {
  if (source.language === 'python') return parametersOf(source, target.parameters).slice(1).map(({ name }) => name).filter((name) => ['llm', 'resources'].includes(name));
  const context = itemsOf(source, target.parameters)[1];
  if (context === undefined) return [];
  return context.nodes.flatMap((node) => (node.name === 'VariableDefinition' ? [textOf(source, node)] : node.name === 'ObjectPattern' ? node.getChildren('PatternProperty').flatMap((property) => boundBy(source, property) ?? []) : []));
}

/** Edits that point the model calls of an agent at its run, giving it the parameter if it has none; null where that cannot be done by itself. */
export function pointAgent(source: Source, target: AgentFunction, sites: Site[]): Edit[] | null {
  if (source.language === 'python') {
    const hasParameter = parametersOf(source, target.parameters).some(({ name }) => name === 'llm');
    const { edits, openings } = pointAll(sites, 'llm');
    if (hasParameter) return openings.length > 0 ? null : edits;
    const pointed = pointPython(source, target, sites);
    return pointed.llm === null ? null : [...pythonParameter(source, target.parameters, 'llm'), ...pointed.edits];
  }
  const known = scriptModel(source, target);
  if (known === null) return null;
  const { edits, openings, imports } = pointAll(sites, known.expression);
  if (openings.length > 0 && target.body.name !== 'Block') return null;
  const style = styleOf(source);
  const wanted = known.edits === 'new' && source.typescript ? [{ name: 'LLM', isType: true }] : [];
  const imported = scriptImport(source, style, wanted, imports);
  const parameter = known.edits === 'new' ? scriptParameter(source, target.parameters, contextParameter(source, 'llm', imported.names[0] ?? 'LLM')) : known.edits;
  return [...imported.edits, ...parameter, ...edits, ...openingEdits(source, target, openings.map((text) => text + style.semicolon))];
}

/** How a script's agent writes the model, and what must be added for that. */
function scriptModel(source: Source, target: AgentFunction): { expression: string; edits: Edit[] | 'new' } | null {
  const context = itemsOf(source, target.parameters)[1];
  if (context === undefined) return { expression: 'llm', edits: 'new' };
  for (const node of context.nodes) {
    if (node.name === 'VariableDefinition') return { expression: `${textOf(source, node)}.llm`, edits: [] };
    if (node.name !== 'ObjectPattern') continue;
    const property = node.getChildren('PatternProperty').find((each) => each.firstChild !== null && textOf(source, each.firstChild) === 'llm');
    if (property !== undefined) return { expression: boundBy(source, property) ?? 'llm', edits: [] };
    const hasType = [...children(target.parameters)].some((each) => each.name === 'TypeAnnotation' && each.from >= node.to && each.getChild('ObjectType') !== null);
    return hasType ? null : { expression: 'llm', edits: [insertion(node.from + 1, node.getChildren('PatternProperty').length > 0 ? ' llm,' : ' llm ')] };
  }
  return null;
}

function boundBy(source: Source, property: Parameters<typeof textOf>[1]): string | null {
  const name = property.getChild('VariableDefinition');
  return name === null ? null : textOf(source, name);
}
