import { z } from 'zod';
import { creditCalls } from '../adapter/credit.ts';
import { toTransitions } from '../adapter/transitions.ts';
import { creditAdvantages } from '../algorithms/credit-advantages.ts';
import { configuredModel } from '../policy/named-model.ts';
import { tokenTexts } from '../policy/token-texts.ts';
import { GrpoConfig } from '../protocol/grpo-config.ts';
import type { CallTokens, CreditRule, CreditSettings, TraceCredit } from '../protocol/credit.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { AttemptedRollout } from '../protocol/rollout.ts';
import type { Run } from '../protocol/run.ts';
import { attr, isLlmCall, numbersOf } from '../protocol/span.ts';
import type { Store } from '../store/store.ts';
import { readCredit, writeCredit } from './credit-file.ts';
import { runFolder } from './session.ts';

/** The parts of a stored run's configuration that a trace needs; each kind of run writes its own. */
const KnownConfig = z.looseObject({
  model: z.looseObject({ path: z.string().optional(), lora_adapter_path: z.string().optional(), kind: z.string().optional(), folder: z.string().optional() }).optional(),
  policy: z.looseObject({ kind: z.string(), folder: z.string().optional() }).optional(), // of evaluations
  origin: z.looseObject({ folder: z.string() }).optional(),
  grpo: z.looseObject({}).optional(),
});

const noGroup = 'There is no other scored rollout of this task in this step to compare with.';

/** What can be computed from recorded rollouts, without running anything. */
export class Traces {
  readonly #store: Store;
  readonly #workspace: string;

  constructor({ store, workspace }: { store: Store; workspace: string }) {
    this.#store = store;
    this.#workspace = workspace;
  }

  credit(rollout_id: string, attempt_id?: string): TraceCredit {
    const rollout = this.#rollout(rollout_id);
    return this.#creditBy(this.#settings(rollout), rollout, attempt_id);
  }

  /** Keeps a changed rule (of the run) or changed links (of this rollout's rewards; null forgets one). */
  setCredit(rollout_id: string, change: { rule?: CreditRule | undefined; links?: Record<string, string[] | null> | undefined }): TraceCredit {
    const rollout = this.#rollout(rollout_id);
    const before = this.#settings(rollout);
    const links = { ...before.links };
    for (const [reward, calls] of Object.entries(change.links ?? {})) {
      if (calls === null) delete links[reward];
      else links[reward] = calls;
    }
    const settings = { rule: change.rule ?? before.rule, links };
    if (rollout.run_id !== null) writeCredit(runFolder(this.#workspace, rollout.run_id), settings);
    return this.#creditBy(settings, rollout, undefined);
  }

  async tokens(rollout_id: string, span_id: string, attempt_id?: string): Promise<CallTokens> {
    const rollout = this.#rollout(rollout_id);
    const span = this.#store.listSpans(rollout_id, attempt_id).find((each) => each.span_id === span_id);
    if (!span || !isLlmCall(span)) throw new TrainerError('not_found', `There is no LLM call ${span_id} in rollout ${rollout_id}.`);
    const response = numbersOf(span, attr.responseTokenIds);
    if (!response) throw new TrainerError('not_found', 'This call has no token ids: the model server did not return them. A local policy, or vLLM, does.');
    const folder = this.#policyFolder(rollout.run_id);
    const prompt = numbersOf(span, attr.promptTokenIds) ?? [];
    const texts = await tokenTexts(folder, [...prompt, ...response]);
    const logprobs = numbersOf(span, attr.responseLogprobs);
    const credit = this.credit(rollout_id, attempt_id);
    const advantage = credit.calls.find((call) => call.span_id === span_id)?.advantage ?? null;
    return {
      prompt: texts.slice(0, prompt.length),
      response: response.map((id, i) => ({ id, text: texts[prompt.length + i]!, logprob: logprobs?.[i] ?? null, advantage })),
      reason: advantage === null ? credit.reason ?? 'This call is not trained: no reward credits it, or agent_match leaves it out.' : null,
    };
  }

  #creditBy(settings: CreditSettings, rollout: AttemptedRollout, attempt_id: string | undefined): TraceCredit {
    const { rule, links } = settings;
    const spans = this.#store.listSpans(rollout.rollout_id, attempt_id);
    const own = creditCalls(spans, rule, links);
    const { group, grpo } = this.#group(rollout);
    const credits = group.map((member) => (member.rollout_id === rollout.rollout_id ? own : creditCalls(this.#store.listSpans(member.rollout_id), rule, links)).calls);
    const at = group.findIndex((member) => member.rollout_id === rollout.rollout_id);
    const advantages = at < 0 ? null : creditAdvantages(credits, rule, grpo);
    const trained = new Set(toTransitions({ rollout, spans }, { agent_match: grpo.agent_match }).transitions.map((transition) => transition.span_id));
    const valueOf = (span_id: string, i: number): number | null => (advantages?.kind === 'advantages' && trained.has(span_id) ? advantages.values[at]?.[i] ?? null : null);
    return {
      settings, rewards: own.rewards,
      calls: own.calls.map((call, i) => ({ ...call, advantage: valueOf(call.span_id, i) })),
      group: group.length,
      reason: at < 0 ? 'This rollout was not scored.' : advantages?.kind === 'skipped' ? reasonOf(advantages.reason) : null,
    };
  }

  /** The scored rollouts that training compares this one with, itself among them if it was scored. */
  #group(rollout: AttemptedRollout): { group: AttemptedRollout[]; grpo: GrpoConfig } {
    const run = this.#run(rollout);
    const grpo = grpoOf(run);
    const peers = run === undefined ? [rollout] : this.#store.listRollouts({ run_id: run.run_id, ...(rollout.step === null ? {} : { step: rollout.step }), ...(rollout.mode === null ? {} : { mode: rollout.mode }) });
    const group = peers.filter((peer) => peer.attempt?.outcome === 'scored' && (peer.rollout_id === rollout.rollout_id || (rollout.task_id !== null && peer.task_id === rollout.task_id && peer.step === rollout.step)));
    return { group, grpo };
  }

  #settings(rollout: AttemptedRollout): CreditSettings {
    const trainedBy: CreditSettings = { rule: grpoOf(this.#run(rollout)).credit, links: {} };
    return rollout.run_id === null ? trainedBy : readCredit(runFolder(this.#workspace, rollout.run_id)) ?? trainedBy;
  }

  #run({ run_id }: AttemptedRollout): Run | undefined {
    return run_id === null ? undefined : this.#store.getRun(run_id);
  }

  /** The folder whose tokenizer the run's token ids belong to; training does not change it. */
  #policyFolder(run_id: string | null): string {
    const config = configOf(run_id === null ? undefined : this.#store.getRun(run_id));
    const { model, policy, origin } = config ?? {};
    for (const source of [model, policy]) if (source?.kind === 'policy' && source.folder !== undefined) return source.folder;
    const local = model && configuredModel(model, origin?.folder ?? this.#workspace);
    if (local) return local;
    throw new TrainerError('not_found', 'The tokens of this run are those of a model server, whose tokenizer is not here. They can be shown as ids only.');
  }

  #rollout(rollout_id: string): AttemptedRollout {
    const rollout = this.#store.getRollout(rollout_id);
    if (!rollout) throw new TrainerError('not_found', `There is no rollout ${rollout_id} in this workspace.`);
    return rollout;
  }
}

function configOf(run: Run | undefined): z.infer<typeof KnownConfig> | undefined {
  return KnownConfig.safeParse(run?.config).data;
}

function grpoOf(run: Run | undefined): GrpoConfig {
  return GrpoConfig.safeParse(configOf(run)?.grpo ?? {}).data ?? GrpoConfig.parse({});
}

function reasonOf(reason: string): string {
  if (reason === 'whitened over the whole step') return 'The advantages of this run are whitened over all tokens of the step, not only this task.';
  return reason === 'group without variance' ? 'All rollouts of this task have the same reward: nothing is reinforced or discouraged.' : noGroup;
}
