import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { exportHuggingFace } from '../../../trainer/export/hugging-face.ts';
import { openPolicy } from '../../../trainer/policy/open-policy.ts';
import type { ChatBackend, ChatRequest } from '../../../trainer/protocol/chat.ts';
import { loraTargets } from '../../../trainer/protocol/lora-config.ts';
import type { Policy, TrainRow, UpdateSettings } from '../../../trainer/protocol/policy.ts';

const [steps, group, answerTokens] = [4, 8, 12];
const settings: UpdateSettings = {
  lr: 2e-3, betas: [0.9, 0.95], weight_decay: 0, max_grad_norm: 1, clip_ratio_low: 0.2, clip_ratio_high: 0.28, clip_ratio_c: 3, importance_sampling_level: 'token', rollout_is: 'none',
  rollout_is_threshold: 2, entropy_coeff: 0, kl_loss_coef: 0, kl_loss_type: 'k3', micro_batch_tokens: 256, ppo_epochs: 1,
};

describe('LoRA on Gemma 3 270M', () => {
  it(`GRPO: the reward of ${group} sampled answers rises within ${steps} steps, trainer and sampler agree`, async function () {
    const fetched = await fetchGemma();
    if ('missing' in fetched) {
      process.stdout.write(`      ${fetched.missing}\n`);
      return this.skip();
    }
    const folder = mkdtempSync(path.join(tmpdir(), 'gemma-'));
    // The file is of the model before it learned to chat, and has no template: its answers go on with the user's text.
    await exportHuggingFace(fetched.file, path.join(folder, 'gemma'), null);
    writeFileSync(path.join(folder, 'gemma', 'chat_template.jinja'), "{{ bos_token }}{% for m in messages %}{{ m['content'] }}{% endfor %}");
    const policy = await openPolicy(path.join(folder, 'gemma'), { threads: 2, lora: { rank: 8, alpha: 16, targets: loraTargets, rslora: false, base: 'float32', seed: 1 } });
    try {
      const means: number[] = [];
      for (let step = 0; step < steps; step++) {
        const answers = await Promise.all(Array.from({ length: group }, (_, i) => ask(policy, step * group + i)));
        const rewards = answers.map(({ text }) => reward(text));
        means.push(mean(rewards));
        const deviation = Math.sqrt(mean(rewards.map((r) => (r - means.at(-1)!) ** 2)));
        const tokens = answers.reduce((sum, { response }) => sum + response.length, 0);
        const rows = answers.map(({ prompt, response, logprobs }, i): TrainRow => {
          const line = (value: (at: number) => number) => [...prompt.map(() => 0), ...response.map((_, at) => value(at))];
          const advantage = (rewards[i]! - means.at(-1)!) / (deviation + 1e-6);
          return { tokens: [...prompt, ...response], mask: line(() => 1), advantages: line(() => advantage), old_logprobs: line((at) => logprobs[at]!), weights: line(() => 1 / tokens), temperature: 1 };
        });
        const metrics = await policy.update([rows], settings);
        assert.ok(metrics.logprob_max_diff < 1e-3, `step ${step}: ${metrics.logprob_max_diff}`);
        process.stdout.write(`      step ${step}: mean reward ${means.at(-1)!.toFixed(3)}, max |Δ log-probability| ${metrics.logprob_max_diff.toExponential(1)}\n`);
      }
      assert.ok(mean(means.slice(-2)) > mean(means.slice(0, 2)) * 1.5, means.join(' '));
    } finally {
      await policy.close();
      rmSync(folder, { recursive: true });
    }
  }).timeout(1_200_000);
});

/** The share of an answer's characters that are an "e". */
function reward(text: string): number { return text.length === 0 ? 0 : [...text].filter((character) => character === 'e').length / [...text].length; }

async function ask(policy: Policy & { chat: ChatBackend }, seed: number): Promise<{ text: string; prompt: number[]; response: number[]; logprobs: number[] }> {
  const request: ChatRequest = { model: 'gemma', messages: [{ role: 'user', content: 'The old tree behind the house' }], max_tokens: answerTokens, temperature: 1 };
  for await (const event of policy.chat.chat(request, { rollout_id: null, attempt_id: null, mode: null, seed, signal: new AbortController().signal })) {
    if (event.type !== 'done') continue;
    const { prompt_token_ids: prompt, response_token_ids: response, response_logprobs: logprobs } = event.tokens!;
    return { text: event.completion.choices[0]!.message.content ?? '', prompt, response, logprobs: logprobs! };
  }
  throw new Error('no answer');
}

function mean(values: readonly number[]): number { return values.reduce((sum, value) => sum + value, 0) / values.length; }

async function fetchGemma(): Promise<{ file: string } | { missing: string }> {
  const script = path.join(import.meta.dirname, '..', '..', '..', 'scripts', 'gemma.mjs');
  return (await import(script) as { fetchGemma: () => { file: string } | { missing: string } }).fetchGemma();
}
