import { z } from 'zod';

/** How a prompt is written in the workspace. `file`: a text file of its own; `yaml`: one string of a YAML file. */
export const promptSyntaxes = ['python-string', 'python-f-string', 'script-string', 'script-template', 'file', 'yaml'] as const;

/**
 * What fills its placeholders in. `none`: it has no variables, and every brace is text · `literal`: the language itself, in an
 * f-string, a template literal or a sum with `+` · `format`: `str.format` and LangChain's f-string templates · `replace`: a call that
 * replaces the placeholder by name; every other brace is text · `jinja`, `mustache`: `text` is the template itself, tags and all.
 */
export const templateEngines = ['none', 'literal', 'format', 'replace', 'jinja', 'mustache'] as const;

/** A value that goes into a prompt. */
export const PromptVariable = z.object({
  /** As one would call it: `question`, `task.city`. */
  name: z.string(),
  /**
   * How it is written in `Prompt.text`, e.g. `{question}`, `${task.city}`, `{{ question }}`. In that text these characters mean the
   * variable and nothing else. Jinja and Mustache know it by its name: this is the first tag that reads it, others may too.
   */
  placeholder: z.string(),
});
export type PromptVariable = z.infer<typeof PromptVariable>;

/** A text of the user's source that reaches an LLM call. */
export const Prompt = z.object({
  /** `agent.py#SYSTEM`, `agent.ts#answer.messages.user`, `prompts/room.md`, `prompts/all.yaml#room.system`: the same as long as the code around it has the same names. */
  prompt_id: z.string(),
  /** For people: the function, variable and role it is in, the keys in a YAML file, or the name of the file. */
  name: z.string(),
  /** Relative to the workspace folder, with forward slashes. */
  file: z.string(),
  syntax: z.enum(promptSyntaxes),
  engine: z.enum(templateEngines),
  /** Of the whole literal in the file, quotes included; UTF-16 units. */
  from: z.number().int(),
  to: z.number().int(),
  /** From 1. */
  line: z.number().int(),
  /**
   * What the model gets: escapes resolved, line continuations and concatenations joined, what is written around the literal
   * (`dedent`, `.strip()`) done, doubled braces single, line breaks `\n`, placeholders in place.
   */
  text: z.string(),
  variables: z.array(PromptVariable),
  /** Agents (`path:name`) whose calls it reaches. */
  agents: z.array(z.string()),
});
export type Prompt = z.infer<typeof Prompt>;
