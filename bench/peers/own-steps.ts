/**
 * Our policy as a measured process: argv is {folder, threads, lr}. Jobs: {kind: 'grpo', messages, group, new_tokens, seed}, one step as a run makes it, from
 * the chat calls to the new weights; {kind: 'sft', rows, length, seed}, one AdamW step on rows of random tokens.
 */
import { groupAdvantages } from '../../trainer/algorithms/advantages.ts';
import { openPolicy } from '../../trainer/policy/open-policy.ts';
import type { ChatMessage } from '../../trainer/protocol/chat.ts';
import type { TrainRow } from '../../trainer/protocol/policy.ts';
import { vowelShare } from './reward.ts';
import { serve, timed } from './serve.ts';

interface GrpoJob { kind: 'grpo'; messages: ChatMessage[]; group: number; new_tokens: number; seed: number }
interface SftJob { kind: 'sft'; rows: number; length: number; seed: number }

const { folder, threads, lr } = JSON.parse(process.argv[2] as string) as { folder: string; threads: number; lr: number };
const policy = await openPolicy(folder, { threads, seed: 1 });
const optimizer = { lr, betas: [0.9, 0.999] as [number, number], weight_decay: 0, max_grad_norm: 1, micro_batch_tokens: 2048 };
const update = {
  ...optimizer, clip_ratio_low: 0.2, clip_ratio_high: 0.2, clip_ratio_c: 3, importance_sampling_level: 'token', rollout_is: 'none', rollout_is_threshold: 2,
  entropy_coeff: 0, kl_loss_coef: 0, kl_loss_type: 'k3', ppo_epochs: 1,
} as const;

async function answerTo({ messages, new_tokens, seed }: GrpoJob, index: number) {
  const context = { rollout_id: null, attempt_id: null, mode: null, seed: seed * 1000 + index, signal: new AbortController().signal };
  for await (const event of policy.chat.chat({ model: 'bench', messages, max_tokens: new_tokens, temperature: 1 }, context)) {
    if (event.type === 'done' && event.tokens) return { ...event.tokens, text: event.completion.choices[0]?.message.content ?? '' };
  }
  throw new Error('the policy gave no tokens');
}

async function grpo(job: GrpoJob): Promise<object> {
  const answers: Awaited<ReturnType<typeof answerTo>>[] = [];
  const sampling = await timed(async () => { answers.push(...await Promise.all(Array.from({ length: job.group }, (_, i) => answerTo(job, i)))); });
  const advantages = groupAdvantages(answers.map(({ text }) => vowelShare(text)), { adv_estimator: 'grpo', scale_rewards: 'group' });
  if (advantages.kind === 'skipped') throw new Error(advantages.reason);
  const trained = answers.reduce((sum, { response_token_ids }) => sum + response_token_ids.length, 0);
  const rows = answers.map(({ prompt_token_ids: prompt, response_token_ids: response, response_logprobs: logprobs }, i): TrainRow => {
    const over = (value: (at: number) => number) => [...prompt.map(() => 0), ...response.map((_, at) => value(at))];
    return {
      tokens: [...prompt, ...response], mask: over(() => 1), advantages: over(() => advantages.values[i] as number),
      old_logprobs: over((at) => logprobs?.[at] as number), weights: over(() => 1 / trained), temperature: 1,
    };
  });
  const learning = await timed(() => policy.update([rows], update));
  return { seconds: sampling.seconds + learning.seconds, cpu: sampling.cpu + learning.cpu, sampling: sampling.seconds, tokens: trained };
}

async function sft({ rows, length, seed }: SftJob): Promise<object> {
  const examples = Array.from({ length: rows }, (_, row) => ({
    tokens: Array.from({ length }, (_, i) => 300 + ((seed * 7919 + row * 104729 + i * 1299709) % (policy.info.vocab_size - 300))),
    mask: Array.from({ length }, (_, i) => Number(i > 0)), temperature: 1,
  }));
  return { ...await timed(() => policy.sft(examples, optimizer)), sampling: 0, tokens: rows * length };
}

await serve(async (job: GrpoJob | SftJob) => (job.kind === 'grpo' ? grpo(job) : sft(job)));
await policy.close();
