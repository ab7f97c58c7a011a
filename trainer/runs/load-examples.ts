import { createHash } from 'node:crypto';
import path from 'node:path';
import { callExamples } from '../adapter/examples.ts';
import { exampleRows } from '../algorithms/example-rows.ts';
import type { ExampleSet } from '../algorithms/train-examples.ts';
import { contentOf } from '../datasets/canonical.ts';
import { loadExamples, loadPreferences } from '../datasets/examples.ts';
import type { Task } from '../datasets/tasks.ts';
import { ExampleTokens } from '../policy/example-tokens.ts';
import type { TrainConfig } from '../protocol/config.ts';
import type { DpoConfig, SftConfig } from '../protocol/example-config.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Example, Preference } from '../protocol/examples.ts';
import type { Store } from '../store/store.ts';

export interface LoadedExamples { set: ExampleSet; notices: string[]; fingerprint: string }

interface Sources { store: Store; folder: string; model: string; validation: Task[] }

/**
 * The examples of a run with algorithm 'sft' or 'dpo', in the model's tokens; null for one that learns from rollouts of its own. Paths are relative to `folder`.
 * Throws TrainerError 'bad_input' on a bad file, 'not_found' on an unknown run, and when nothing is left to learn from.
 */
export async function loadExampleSet({ algorithm, sft, dpo }: TrainConfig, sources: Sources): Promise<LoadedExamples | null> {
  if (algorithm === 'sft' && sft) return loadConversations(sft, sources);
  if (algorithm === 'dpo' && dpo) return loadPairs(dpo, sources);
  return null;
}

async function loadConversations(settings: SftConfig, sources: Sources): Promise<LoadedExamples> {
  const { data } = settings;
  const examples = typeof data === 'string' ? await loadExamples(path.resolve(sources.folder, data))
    : recorded(data.runs, settings.agent_match, sources).filter(({ reward }) => reward >= data.min_reward).flatMap(({ calls }) => calls.map(({ example }) => example));
  const tokens = await ExampleTokens.open(sources.model);
  const rows = examples.map((example) => exampleRows(tokens, example)).filter((row) => row !== null);
  return loaded({ algorithm: 'sft', settings, examples: rows }, examples.length, examples);
}

async function loadPairs(settings: DpoConfig, sources: Sources): Promise<LoadedExamples> {
  const { data } = settings;
  const pairs = typeof data === 'string' ? await loadPreferences(path.resolve(sources.folder, data)) : preferences(recorded(data.runs, settings.agent_match, sources));
  const tokens = await ExampleTokens.open(sources.model);
  const examples = pairs.flatMap((pair) => {
    const [chosen, rejected] = [exampleRows(tokens, pair.chosen), exampleRows(tokens, pair.rejected)];
    return chosen && rejected ? [{ chosen, rejected }] : [];
  });
  return loaded({ algorithm: 'dpo', settings, examples }, pairs.length, pairs);
}

function loaded(set: ExampleSet, all: number, content: readonly (Example | Preference)[]): LoadedExamples {
  const kept = set.examples.length;
  const noun = set.algorithm === 'sft' ? 'conversations' : 'pairs of answers';
  if (kept === 0) {
    const why = all > 0 ? `all ${all} are longer than the model's context` : set.algorithm === 'sft' ? 'no complete call belongs to a rollout with min_reward' : 'no two rollouts with different rewards answered the same messages';
    throw new TrainerError('bad_input', `There are no ${noun} to learn from: ${why}. Give other data in ${set.algorithm}.data.`);
  }
  const notices = [`Learning from ${kept} ${noun}.`];
  if (kept < all) notices.push(`${all - kept} of ${all} ${noun} are longer than the model's context and left out.`);
  return { set, notices, fingerprint: createHash('sha256').update(JSON.stringify(content)).digest('hex') };
}

interface RecordedCall { example: Example; messages: string }

/** The scored rollouts of earlier runs with their calls, in order; those on validation tasks are not among them. */
function recorded(runs: readonly string[], agent_match: string | undefined, { store, validation }: Sources): { reward: number; calls: RecordedCall[] }[] {
  const heldOut = new Set(validation.map(({ input }) => contentOf(input)));
  return runs.flatMap((run_id) => {
    if (!store.getRun(run_id)) throw new TrainerError('not_found', `There is no run ${run_id} in this workspace to learn from.`);
    return store.listRollouts({ run_id, status_in: ['succeeded'] }).flatMap(({ rollout_id, input, attempt }) => {
      if (attempt?.outcome !== 'scored' || attempt.reward === null || heldOut.has(contentOf(input))) return [];
      const calls = callExamples(store.listSpans(rollout_id), { agent_match }).map((example) => ({ example, messages: JSON.stringify([example.messages.slice(0, example.from), example.tools]) }));
      return [{ reward: attempt.reward, calls }];
    });
  });
}

/** For each conversation that several rollouts had to answer, the answer of the best and that of the worst, where their rewards differ. */
function preferences(rollouts: readonly { reward: number; calls: RecordedCall[] }[]): Preference[] {
  const answers = new Map<string, { best: { reward: number; example: Example }; worst: { reward: number; example: Example } }>();
  for (const { reward, calls } of rollouts) for (const { example, messages } of calls) {
    const answer = { reward, example };
    const known = answers.get(messages);
    if (!known) answers.set(messages, { best: answer, worst: answer });
    else if (reward > known.best.reward) known.best = answer;
    else if (reward < known.worst.reward) known.worst = answer;
  }
  return [...answers.values()].flatMap(({ best, worst }) => (best.reward > worst.reward ? [{ chosen: best.example, rejected: worst.example }] : []));
}
