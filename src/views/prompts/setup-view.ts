import { z } from 'zod';
import { t } from '../../../trainer/protocol/l10n.ts';
import { ApoConfig, GepaConfig } from '../../../trainer/protocol/optimize.ts';
import type { OptimizeAlgorithm, OptimizeRequest } from '../../../trainer/protocol/optimize.ts';
import type { AlgorithmChoice, Limits, SetupPatch, SetupView } from '../../../trainer/protocol/prompt-views.ts';
import type { ChosenModel } from '../../../trainer/protocol/endpoints.ts';
import type { Prompt } from '../../../trainer/protocol/prompts.ts';

/** A search as the user has set it up. Paths are absolute. */
export interface Setup {
  algorithm: OptimizeAlgorithm;
  limits: Limits;
  prices: { input: number | null; output: number | null };
  data: string | null;
  validation: string | null;
  test: string | null;
  /** null: what the nearest agent-trainer.json names. */
  model: ChosenModel | null;
  /** null: the model of the agent. */
  optimizer: ChosenModel | null;
  maxChars: number | null;
  seed: number;
  apo: ApoConfig;
  gepa: GepaConfig;
  /** Ids of the prompts to be left as they are. */
  left: string[];
}

export const defaultSetup = (): Setup => ({
  algorithm: 'gepa', limits: { rollouts: 200, tokens: null, usd: null, minutes: null }, prices: { input: null, output: null }, data: null, validation: null, test: null,
  model: null, optimizer: null, maxChars: null, seed: 0, apo: ApoConfig.parse({}), gepa: GepaConfig.parse({}), left: [],
});

const algorithms = (): AlgorithmChoice[] => [
  { value: 'gepa', label: 'GEPA', help: t('Reflective evolution: rewrites a prompt from what went wrong, and keeps every text that is best on some task.') },
  { value: 'apo', label: 'APO', help: t('Textual gradients: criticises the prompt, edits it by the critique, and keeps the best few of each round.') },
  { value: 'baseline', label: t('Only measure'), help: t('Scores the prompts as they are and changes nothing.') },
];

/** The settings of APO and GEPA as their schemas describe them. */
const fields = [...describe('apo', ApoConfig), ...describe('gepa', GepaConfig)];

function describe(algorithm: 'apo' | 'gepa', schema: z.ZodType): { algorithm: 'apo' | 'gepa'; key: string; label: string; help: string }[] {
  return Object.entries(z.toJSONSchema(schema, { io: 'input' }).properties ?? {}).map(([key, property]) => ({ algorithm, key, label: words(key), help: typeof property === 'object' ? property.description ?? '' : '' }));
}

/** `val_batch_size` → `Validation batch size` */
function words(key: string): string {
  return key.replace(/_/g, ' ').replace(/^val /, 'validation ').replace(/^./, (first) => first.toUpperCase());
}

export interface SetupKnown {
  prompts: readonly Prompt[] | null;
  /** A path as people read it. */
  nameOf: (path: string) => string;
  /** The agent-trainer.json near the agent. */
  config: string | null;
  starting: boolean;
}

export function setupView(setup: Setup, { prompts, nameOf, config, starting }: SetupKnown): SetupView {
  const name = (path: string | null): string | null => (path === null ? null : nameOf(path));
  const { algorithm, limits, prices, maxChars, seed } = setup;
  return {
    algorithms: algorithms(), algorithm, limits, prices, maxChars, seed, starting,
    data: name(setup.data), validation: name(setup.validation), test: name(setup.test),
    model: setup.model === null ? (config === null ? t('None chosen') : t('As in {0}', nameOf(config))) : modelName(setup.model),
    optimizer: setup.optimizer === null ? t('The agent’s own') : modelName(setup.optimizer),
    defaultMaxChars: Math.max(2000, 4 * Math.max(0, ...(prompts ?? []).map(({ text }) => text.length))),
    fields: fields.map((field) => ({ ...field, value: ({ ...setup[field.algorithm] } as Record<string, number | boolean>)[field.key] ?? 0 })),
    problem: problemOf(setup, prompts, config),
  };
}

function modelName(model: ChosenModel): string {
  return model.kind === 'editor' ? t('{0}, through VS Code', model.name) : model.name ?? model.url;
}

function problemOf({ data, model, limits, prices, left, algorithm }: Setup, prompts: readonly Prompt[] | null, config: string | null): string | null {
  if (prompts === null) return t('The prompts of the agent are being read.');
  if (prompts.length === 0) return t('No prompt of this agent was found.');
  if (algorithm !== 'baseline' && prompts.every(({ prompt_id }) => left.includes(prompt_id))) return t('Choose a prompt to change.');
  if (data === null) return t('Choose the tasks to learn from.');
  if (model === null && config === null) return t('Choose the model that answers the agent.');
  if (Object.values(limits).every((limit) => limit === null)) return t('Set at least one limit.');
  if (limits.usd !== null && (prices.input === null || prices.output === null)) return t('A limit in money needs the prices of the model.');
  return null;
}

/** The set-up after a change on the page. A value that its schema refuses changes nothing. */
export function patched(setup: Setup, { field, prompt, limits, prices, ...patch }: SetupPatch): Setup {
  const next: Setup = { ...setup, ...defined(patch), limits: { ...setup.limits, ...defined(limits ?? {}) }, prices: { ...setup.prices, ...defined(prices ?? {}) } };
  if (prompt !== undefined) next.left = [...setup.left.filter((id) => id !== prompt.prompt_id), ...(prompt.chosen ? [] : [prompt.prompt_id])];
  if (field?.algorithm === 'apo') next.apo = ApoConfig.safeParse({ ...setup.apo, [field.key]: field.value }).data ?? setup.apo;
  if (field?.algorithm === 'gepa') next.gepa = GepaConfig.safeParse({ ...setup.gepa, [field.key]: field.value }).data ?? setup.gepa;
  return next;
}

/** What the trainer is asked for; of a money limit its prices too. */
export function requestOf(setup: Setup, prompts: readonly Prompt[]): z.input<typeof OptimizeRequest> {
  const { algorithm, apo, gepa, limits, prices, validation, test, optimizer, maxChars, left } = setup;
  const chosen = prompts.map(({ prompt_id }) => prompt_id).filter((id) => !left.includes(id));
  return {
    algorithm, apo, gepa,
    budget: Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== null)),
    ...(validation === null ? {} : { validation }), ...(test === null ? {} : { test }),
    ...(chosen.length === prompts.length || chosen.length === 0 ? {} : { prompts: chosen }),
    ...(optimizer === null ? {} : { optimizer }),
    ...(prices.input === null || prices.output === null ? {} : { prices: { input: prices.input, output: prices.output } }),
    ...(maxChars === null ? {} : { max_prompt_chars: maxChars }),
  };
}

function defined<T extends object>(patch: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as { [K in keyof T]: Exclude<T[K], undefined> };
}
