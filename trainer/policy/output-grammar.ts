import { toAutomaton } from '../grammar/automaton.ts';
import { allCharacters, utf8 } from '../grammar/characters.ts';
import type { Expr } from '../grammar/expressions.ts';
import { Grammar, type GrammarConstraint } from '../grammar/grammar.ts';
import { JsonText } from '../grammar/json-text.ts';
import { schemaDocuments } from '../grammar/schema.ts';
import type { Vocabulary } from '../grammar/vocabulary.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { CallableTool, OutputFormat } from './output-format.ts';
import { toolCallEnd, toolCallStart } from './tool-calls.ts';

const maxGrammars = 8;

/** Grammars by the format they stand for, the last ones used. */
export class OutputGrammars {
  readonly #vocabulary: () => Vocabulary;
  readonly #known = new Map<string, Grammar>();

  /** `vocabulary` is asked for once a format is. */
  constructor(vocabulary: () => Vocabulary) { this.#vocabulary = vocabulary; }

  /** A fresh constraint for one answer. Throws TrainerError `bad_input` with `details` { param, code } when a schema cannot be followed. */
  constraint(format: OutputFormat): GrammarConstraint {
    const key = JSON.stringify(format);
    let grammar = this.#known.get(key);
    if (grammar) this.#known.delete(key); // to the end of the line
    else {
      const json = new JsonText();
      grammar = new Grammar(json.algebra, answers(json, format), this.#vocabulary(), [json.anyCharacter, json.character]);
    }
    this.#known.set(key, grammar);
    if (this.#known.size > maxGrammars) this.#known.delete(this.#known.keys().next().value as string);
    return grammar.constraint();
  }
}

/** Everything a model may answer. */
function answers(json: JsonText, { document, calls }: OutputFormat): Expr {
  const { algebra } = json;
  const documents = document ? explained(() => (document.schema === true ? json.object([], json.any()) : schemaDocuments(json, document.schema)), `response_format${document.name === null ? '' : ` '${document.name}'`}`, 'response_format', 'invalid_json_schema') : algebra.none;
  if (!calls) return documents;
  const call = algebra.either(...calls.tools.map((tool) => toolCall(json, tool)));
  const blocks = calls.several ? algebra.seq(call, algebra.repeat(algebra.seq(algebra.optional(algebra.text('\n')), call), 0)) : call;
  return calls.free ? algebra.seq(freeText(json), algebra.optional(blocks)) : algebra.either(documents, blocks);
}

/** As `parseToolCalls` reads them. */
function toolCall(json: JsonText, { name, schema, param }: CallableTool): Expr {
  const { algebra } = json;
  const line = algebra.optional(algebra.text('\n'));
  const args = schema === null ? json.object([], json.any()) : explained(() => schemaDocuments(json, objectSchema(schema)), `function '${name}'`, param, 'invalid_function_parameters');
  const body = json.object([{ name: 'name', value: json.literal(name), required: true }, { name: 'arguments', value: args, required: true }], algebra.none);
  return algebra.seq(algebra.text(toolCallStart), line, body, line, algebra.text(toolCallEnd));
}

function objectSchema(schema: unknown): unknown {
  if ((schema as { type?: unknown } | null)?.type !== 'object') throw new TrainerError('bad_input', 'at #: the "type" of a function\'s parameters must be "object"');
  return schema;
}

/** Text in which no tool call begins. */
function freeText({ algebra }: JsonText): Expr {
  const any = algebra.repeat(utf8(algebra, allCharacters), 0);
  const found = toAutomaton(algebra, algebra.both(any, algebra.not(algebra.seq(any, algebra.text(toolCallStart), any))));
  return found ? algebra.automaton(found, 0) : algebra.none;
}

function explained(read: () => Expr, what: string, param: string, code: string): Expr {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TrainerError)) throw error;
    throw new TrainerError('bad_input', `Invalid schema for ${what}: ${error.message}. docs/compatibility.md lists what is supported.`, { cause: error, details: { ...error.details, param, code } });
  }
}
