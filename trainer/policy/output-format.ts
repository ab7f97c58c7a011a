import { z } from 'zod';
import { ChatBackendError, type ChatRequest } from '../protocol/chat.ts';

/** A function the model may call. `schema`: its arguments; null: any JSON object. `param`: where the request says so. */
const CallableTool = z.strictObject({ name: z.string(), schema: z.unknown(), param: z.string() });
export type CallableTool = z.infer<typeof CallableTool>;

/** What an answer must look like: one of `document` and `calls`, where both are given. Plain data. */
export const OutputFormat = z.strictObject({
  /** A JSON document as the answer. `schema` true: any object. */
  document: z.strictObject({ schema: z.unknown(), name: z.string().nullable() }).nullable(),
  /** Tool calls. `free`: after text of any kind, or text alone. */
  calls: z.strictObject({ tools: z.array(CallableTool), several: z.boolean(), free: z.boolean() }).nullable(),
});
export type OutputFormat = z.infer<typeof OutputFormat>;

const name = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -');
const ResponseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({ type: z.literal('json_schema'), json_schema: z.looseObject({ name, schema: z.record(z.string(), z.unknown()).default({}), strict: z.boolean().nullish() }) }),
], 'must be of type "text", "json_object" or "json_schema"');
const Tool = z.looseObject({ type: z.literal('function'), function: z.looseObject({ name, parameters: z.unknown().optional(), strict: z.boolean().nullish() }) });
const ToolChoice = z.union([z.enum(['none', 'auto', 'required']), z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) })], 'must be "none", "auto", "required" or {"type": "function", "function": {"name": …}}');

/** The form that `response_format`, `tools` and `tool_choice` ask of an answer; null: none. Throws OpenAI's 400 naming the parameter. */
export function outputFormat(request: ChatRequest): OutputFormat | null {
  const format = parsed(ResponseFormat.nullish(), request['response_format'], 'response_format');
  const choice = parsed(ToolChoice.nullish(), request.tool_choice, 'tool_choice') ?? 'auto';
  const calls = choice === 'none' ? null : toolCalls(request, choice, format != null && format.type !== 'text');
  const document = format?.type === 'json_schema' ? { schema: format.json_schema.schema, name: format.json_schema.name }
    : format?.type === 'json_object' ? { schema: true, name: null } : null;
  if (calls && !calls.free && choice !== 'auto') return { document: null, calls };
  return document || calls ? { document, calls } : null;
}

function toolCalls(request: ChatRequest, choice: z.infer<typeof ToolChoice>, hasDocument: boolean): OutputFormat['calls'] {
  const given = request.tools ?? [];
  const forced = typeof choice === 'object' ? choice.function.name : null;
  const isStrict = given.some((tool) => (tool['function'] as { strict?: unknown } | undefined)?.strict === true);
  if (choice === 'auto' && !isStrict && !(hasDocument && given.length > 0)) return null;
  const tools = given.map((tool, i): CallableTool => {
    const { function: { name, parameters, strict } } = parsed(Tool, tool, `tools[${i}]`);
    return { name, schema: strict ? parameters ?? { type: 'object', properties: {}, additionalProperties: false } : null, param: `tools[${i}].function.parameters` };
  }).filter((tool) => forced === null || tool.name === forced);
  if (tools.length === 0) throw invalid('tool_choice', forced === null ? 'it asks for a call, and there are no tools' : `there is no tool "${forced}"`);
  return { tools, several: forced === null && request['parallel_tool_calls'] !== false, free: choice === 'auto' && !hasDocument };
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, param: string): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const issue = error.issues[0];
  throw invalid([param, ...(issue?.path ?? [])].join('.'), issue?.message ?? 'not understood');
}

function invalid(param: string, message: string): ChatBackendError {
  return new ChatBackendError(400, 'invalid_request_error', `Invalid value for '${param}': ${message}.`, { param, code: 'invalid_value' });
}
