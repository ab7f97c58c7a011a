import type { Task } from '../../../trainer/datasets/tasks.ts';
import { Lab, type Evaluator, type LabOptions, type Trial } from '../../../trainer/optimize/lab.ts';
import { Meter } from '../../../trainer/optimize/meter.ts';
import { Proposer, type AskOptimizer, type ProposerOptions } from '../../../trainer/optimize/proposer.ts';
import type { ChatMessage } from '../../../trainer/protocol/chat.ts';
import type { Candidate, Part } from '../../../trainer/protocol/optimize.ts';
import type { Prompt } from '../../../trainer/protocol/prompts.ts';

export function promptNamed(prompt_id: string, text: string, placeholders: string[] = []): Prompt {
  return {
    prompt_id, name: prompt_id, file: 'agent.py', syntax: 'python-string', engine: placeholders.length > 0 ? 'format' : 'none', from: 0, to: 0, line: 1, text,
    variables: placeholders.map((placeholder) => ({ name: placeholder.slice(1, -1), placeholder })), agents: [],
  };
}

export function tasksNamed(prefix: string, count: number): Task[] {
  return Array.from({ length: count }, (_, i) => ({ id: `${prefix}${i}`, input: { question: `${prefix}${i}` }, line: i + 1 }));
}

/** What an agent earns: the outside world of a search. */
export type Reward = (texts: Record<string, string>, task: Task, trial: Trial) => number | null;

/** An evaluator over a reward function. Its memory can be given to another one, as a store outlives a process. */
export function evaluatorOf(reward: Reward, memory = new Map<string, ReturnType<Evaluator['recall']>>()): Evaluator & { ran: string[]; memory: typeof memory } {
  const ran: string[] = [];
  const keyOf = ({ texts, part, replicate }: Trial, task: Task) => JSON.stringify([texts, part, replicate, task.id]);
  return {
    ran, memory,
    recall: (trial, task) => memory.get(keyOf(trial, task)) ?? null,
    run: async (trial, tasks, signal) => {
      signal.throwIfAborted();
      return tasks.map((task) => {
        const value = reward(trial.texts, task, trial);
        ran.push(`${trial.candidate_id} ${trial.part} ${task.id}`);
        const result = { task_id: task.id, reward: value, outcome: value === null ? 'infra_error' as const : 'scored' as const, reason: value === null ? 'The server was down.' : `${task.id} earned ${value}.`, rollout_id: `ro-${memory.size}`, cached: false, input_tokens: 10, output_tokens: 5 };
        memory.set(keyOf(trial, task), result);
        return result;
      });
    },
    transcript: (rollout_id) => `What happened in ${rollout_id}`,
  };
}

export function makeLab(options: Partial<LabOptions> & { reward?: Reward; rollouts?: number; reserve?: number } = {}): Lab {
  const { reward = () => 0.5, rollouts, reserve = 0, ...rest } = options;
  return new Lab({
    prompts: [promptNamed('p', 'start')], train: tasksNamed('t', 9), validation: tasksNamed('v', 8), seed: 1,
    evaluator: evaluatorOf(reward), meter: new Meter({ budget: rollouts === undefined ? {} : { rollouts }, reserve }), signal: new AbortController().signal, ...rest,
  });
}

/** An optimiser that gives these answers in turn, then the last for ever; what it was asked is kept. */
export function scriptedOptimizer(...answers: (string | Error)[]): AskOptimizer & { asked: string[][] } {
  const asked: string[][] = [];
  const ask: AskOptimizer = async (messages) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)]!;
    asked.push(messages.map(textOf));
    if (answer instanceof Error) throw answer;
    return { text: answer, input_tokens: 100, output_tokens: 20 };
  };
  return Object.assign(ask, { asked });
}

export const textOf = ({ content }: ChatMessage): string => (typeof content === 'string' ? content : '');

export const says = (text: string): string => `<critique>\nIt could be better.\n</critique>\n<prompt>\n${text}\n</prompt>`;

export function makeProposer(lab: Lab, ask: AskOptimizer, check: ProposerOptions['check'] = () => null): Proposer {
  return new Proposer(lab, { ask, check, limit: 1000 });
}

/** A kept candidate with these rewards on the validation tasks v0, v1, … */
export function scored(lab: Lab, texts: Record<string, string>, rewards: (number | null)[], { parents = [], part = 'validation' }: { parents?: Candidate[]; part?: Part } = {}): Candidate {
  const candidate = lab.pool.add({ parents, origin: 'reflection', round: 1, texts, status: 'kept' });
  rewards.forEach((reward, i) => candidate.results.push({ part, task_id: `v${i}`, replicate: 0, reward, outcome: reward === null ? 'infra_error' : 'scored', reason: null, rollout_id: `ro-${candidate.candidate_id}-${i}`, cached: false }));
  const known = rewards.filter((reward) => reward !== null);
  return lab.pool.update(candidate, { validation: { n: known.length, mean_reward: known.length === 0 ? null : known.reduce((sum, each) => sum + each, 0) / known.length } });
}
