import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { CallContext, ChatBackend, ChatBackendError, ChatChunk, ChatEvent, ChatRequest } from '../../../trainer/protocol/chat.ts';
import type { Policy, TrainRow, UpdateSettings } from '../../../trainer/protocol/policy.ts';
import { loadModel } from '../../../trainer/models/model-folder.ts';
import { openPolicy } from '../../../trainer/policy/open-policy.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';

type Done = Extract<ChatEvent, { type: 'done' }>;

const settings: UpdateSettings = {
  lr: 0.01, betas: [0.9, 0.95], weight_decay: 0, max_grad_norm: 1, clip_ratio_low: 0.2, clip_ratio_high: 0.28,
  clip_ratio_c: 3, importance_sampling_level: 'token', rollout_is: 'none', rollout_is_threshold: 2, entropy_coeff: 0,
  kl_loss_coef: 0.01, kl_loss_type: 'k3', micro_batch_tokens: 1024, ppo_epochs: 1,
};

describe('the policy in its thread', () => {
  let folder: string;
  let policy: Policy & { chat: ChatBackend };
  const open = async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'policy-'));
    await makeTinyPolicy(path.join(folder, 'tiny'));
    policy = await openPolicy(path.join(folder, 'tiny'), { threads: 1 });
  };
  const close = async () => {
    await policy.close();
    rmSync(folder, { recursive: true });
  };

  const context = (changes: Partial<CallContext> = {}): CallContext =>
    ({ rollout_id: null, attempt_id: null, mode: null, seed: null, signal: new AbortController().signal, ...changes });
  const request = (content: string, changes: Partial<ChatRequest> = {}): ChatRequest => ({ model: 'tiny', messages: [{ role: 'user', content }], max_tokens: 16, ...changes });

  async function ask(content: string, seed: number, changes: Partial<ChatRequest> = {}, of: Policy & { chat: ChatBackend } = policy): Promise<Done & { chunks: ChatChunk[] }> {
    const chunks: ChatChunk[] = [];
    for await (const event of of.chat.chat(request(content, changes), context({ seed }))) {
      if (event.type === 'done') return { ...event, chunks };
      chunks.push(event.chunk);
    }
    throw new Error('no answer');
  }

  function rowOf({ tokens: sampled }: Done, advantage: number, total: number): TrainRow {
    const { prompt_token_ids: prompt, response_token_ids: response, response_logprobs: logprobs } = sampled!;
    const line = (value: (i: number) => number) => [...prompt.map(() => 0), ...response.map((_, i) => value(i))];
    return { tokens: [...prompt, ...response], mask: line(() => 1), advantages: line(() => advantage), old_logprobs: line((i) => logprobs![i]!), weights: line(() => 1 / total), temperature: 1 };
  }

  describe('while its weights stay', () => {
    before(open);
    after(close);

    it('says what it is', async () => {
      assert.deepEqual(policy.info, { model_type: 'qwen2', parameters: 27424, trainable_parameters: 27424, vocab_size: 272, context_length: 128, provider: 'cpu', provider_reason: policy.info.provider_reason, threads: 1 });
      assert.equal(policy.version, 0);
      assert.deepEqual(await policy.chat.models(), ['tiny']);
    });

    it('answers a chat, streamed or not, the same for the same seed', async () => {
      const plain = await ask('Say e', 5);
      const streamed = await ask('Say e', 5, { stream: true });
      const text = plain.completion.choices[0]!.message.content;
      assert.equal(streamed.completion.choices[0]!.message.content, text);
      assert.equal(streamed.chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''), text);
      assert.deepEqual(streamed.tokens, plain.tokens);
      assert.deepEqual(plain.chunks, []);
      assert.deepEqual(plain.sampling, { temperature: 1, top_p: 1, top_k: 0, max_tokens: 16, seed: 5, stop: [], constrained: false });
      assert.notDeepEqual((await ask('Say e', 6)).tokens, plain.tokens);
    });

    it('gives many callers at once what each gets alone', async () => {
      const alone = [await ask('one', 1), await ask('two', 2), await ask('three', 3, { temperature: 0.5, max_tokens: 40 })];
      const crowd = await Promise.all(Array.from({ length: 50 }, (_, i) => (i < 3 ? ask(['one', 'two', 'three'][i]!, i + 1, i === 2 ? { temperature: 0.5, max_tokens: 40 } : {}) : ask(`other ${i % 7}`, i))));
      alone.forEach((done, i) => assert.deepEqual(crowd[i]!.tokens, done.tokens));
    });

    it('answers wrong requests in OpenAI’s terms', async () => {
      const refusal = async (changes: Partial<ChatRequest>) => {
        try {
          await ask('x', 1, changes);
        } catch (error) {
          const { status, code, param, message, name } = error as ChatBackendError;
          return { status, code, param, message, name };
        }
        throw new Error('not refused');
      };
      const long = await refusal({ messages: [{ role: 'user', content: 'word '.repeat(60) }] });
      assert.deepEqual({ ...long, message: '' }, { status: 400, code: 'context_length_exceeded', param: 'messages', message: '', name: 'ChatBackendError' });
      assert.match(long.message, /holds 128 tokens/);
      assert.equal((await refusal({ n: 2 })).param, 'n');
      assert.match((await refusal({ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] })).message, /image_url/);
      assert.equal((await ask('x', 1)).completion.usage!.completion_tokens, 16);
    });

    it('fills the context and no more', async () => {
      const { completion } = await ask('x', 1, { max_tokens: 5000 });
      if (completion.choices[0]!.finish_reason === 'length') assert.equal(completion.usage!.total_tokens, 128);
      else assert.ok(completion.usage!.total_tokens <= 128);
    });

    it('stops working on an answer nobody waits for', async () => {
      const controller = new AbortController();
      const given = (async () => {
        for await (const event of policy.chat.chat(request('x', { max_tokens: 100, stream: true }), context({ seed: 1, signal: controller.signal }))) if (event.type === 'chunk') controller.abort();
      })();
      await assert.rejects(given, { name: 'AbortError' });
      const early = new AbortController();
      early.abort();
      await assert.rejects(policy.chat.chat(request('x'), context({ signal: early.signal }))[Symbol.asyncIterator]().next(), { name: 'AbortError' });
      assert.ok((await ask('x', 1)).tokens);
    });

    it('a refused update changes nothing', async () => {
      const done = await ask('x', 1);
      const row = rowOf(done, 1, 16);
      await assert.rejects(policy.update([[{ ...row, advantages: row.advantages.map(() => NaN) }]], settings), { name: 'TrainerError', code: 'bad_input' });
      await assert.rejects(policy.update([[row]], settings), /Call setReference/);
      assert.equal(policy.version, 0);
      assert.deepEqual((await ask('x', 1)).tokens, done.tokens);
    });
  });

  describe('from its beginning', () => {
    beforeEach(open);
    afterEach(close);

    it('seeds requests without a seed from its own', async () => {
      const seeded = await Promise.all([1, 2].map(() => openPolicy(path.join(folder, 'tiny'), { threads: 1, seed: 9 })));
      const sample = async (of: typeof policy) => {
        const events: ChatEvent[] = [];
        for await (const event of of.chat.chat(request('x'), context())) events.push(event);
        return (events.at(-1) as Done).tokens;
      };
      const [first, second] = [await sample(seeded[0]!), await sample(seeded[1]!)];
      assert.deepEqual(first, second);
      assert.notDeepEqual(await sample(seeded[0]!), first);
      for (const opened of seeded) await opened.close();
    });

    it('keeps a moving average of the weights, through a checkpoint too, and can put it in their place', async () => {
      const row = rowOf(await ask('Say e', 1), 1, 1);
      const example = { lr: 0.01, betas: [0.9, 0.95] as [number, number], weight_decay: 0, max_grad_norm: 1, ema_decay: 0.5, micro_batch_tokens: 256 };
      const saved = async (name: string, resumable: boolean) => {
        await policy.save(path.join(folder, name), { resumable });
        return (await loadModel(path.join(folder, name))).weights.flat;
      };
      await policy.sft([row], example);
      const first = await saved('ema-1', true);
      await policy.sft([row], example);
      await policy.restore(path.join(folder, 'ema-1'));
      await policy.sft([row], example);
      const second = await saved('ema-2', false);
      await policy.adoptAverage();
      const average = await saved('ema-3', false);
      assert.ok(average.every((value, i) => Math.abs(value - (first[i]! + second[i]!) / 2) < 1e-7) && !average.every((value, i) => value === second[i]));
    });

    it('learns from its own answers: on-policy at first, better afterwards, the sampler following at once', async () => {
      await policy.setReference();
      const answers = await Promise.all(Array.from({ length: 16 }, (_, i) => ask('Say e', i)));
      const total = answers.reduce((sum, { tokens }) => sum + tokens!.response_token_ids.length, 0);
      const rows = answers.map((done, i) => rowOf(done, i < 8 ? 1 : -1, total));
      const scored = await policy.logprobs(rows);
      rows.forEach((row, i) => row.old_logprobs.forEach((old, t) => assert.ok(Math.abs(old - scored[i]![t]!) < 1e-4)));

      const first = await policy.update([rows], settings);
      assert.ok(first.logprob_max_diff < 1e-4 && first.ratio_deviation < 1e-4);
      assert.ok(first.grad_norm > 0 && first.kl !== null && first.trained_tokens === total);
      assert.equal(policy.version, 1);
      const after = await policy.logprobs(rows);
      const gain = rows.map((row, i) => row.advantages.reduce((sum, a, t) => sum + a * (after[i]![t]! - scored[i]![t]!), 0)).reduce((a, b) => a + b, 0);
      assert.ok(gain > 0);

      const fresh = await ask('Say e', 3);
      assert.equal(fresh.tokens!.policy_version, 1);
      const row = rowOf(fresh, 0, 1);
      const [again] = await policy.logprobs([row]);
      row.old_logprobs.forEach((old, t) => assert.ok(Math.abs(old - again![t]!) < 1e-4));
      assert.notDeepEqual(fresh.tokens!.response_logprobs, answers[3]!.tokens!.response_logprobs);
    });

    it('lets running answers finish under the weights they began with, and holds new ones until the update is done', async () => {
      const before = await ask('long', 1, { max_tokens: 90 });
      const row = rowOf(before, 1, 90);
      const running = ask('long', 1, { max_tokens: 90 });
      const update = policy.update([[row]], { ...settings, kl_loss_coef: 0 });
      const held = ask('long', 1, { max_tokens: 90 });
      assert.deepEqual((await running).tokens, before.tokens);
      await update;
      assert.equal((await held).tokens!.policy_version, 1);
    });

    it('saves, restores and goes on bit for bit', async () => {
      const train = async (of: typeof policy, from: number) => {
        for (let step = from; step < from + 2; step++) {
          const done = await ask('go', step, {}, of);
          await of.update([[rowOf(done, step % 2 ? 1 : -1, 20)]], { ...settings, kl_loss_coef: 0 });
        }
      };
      await train(policy, 0);
      await policy.save(path.join(folder, 'half'), { resumable: true });
      await train(policy, 2);
      const resumed = await openPolicy(path.join(folder, 'tiny'), { threads: 1 });
      await resumed.restore(path.join(folder, 'half'));
      assert.equal(resumed.version, 2);
      await train(resumed, 2);
      assert.deepEqual((await ask('end', 1, {}, resumed)).tokens, (await ask('end', 1)).tokens);
      await resumed.close();
      const loaded = await openPolicy(path.join(folder, 'half'), { threads: 1 });
      assert.ok((await ask('end', 1, {}, loaded)).tokens!.response_token_ids.length > 0);
      await loaded.close();
      await assert.rejects(policy.save(path.join(folder, 'half'), { resumable: false }), { code: 'conflict' });
      await assert.rejects(policy.restore(path.join(folder, 'tiny')), /no state to resume/);
    });

    it('tells who still waits when it is closed, and refuses after', async () => {
      const waiting = ask('x', 1, { max_tokens: 100 });
      const settled = waiting.then(() => 'answered', (error: Error) => error.message);
      await policy.close();
      assert.match(await settled, /closed|answered/);
      await assert.rejects(policy.logprobs([]), /has been closed/);
      await assert.rejects(ask('x', 1), { name: 'ChatBackendError', status: 503, message: /has been closed/ });
      await policy.close();
    });

    it('refuses a conversation its template makes nothing of, or never ends with, and goes on', async () => {
      for (const [template, message] of [['', /makes nothing of these messages/], ['{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}', /was stopped after/]] as const) {
        writeFileSync(path.join(folder, 'tiny', 'chat_template.jinja'), template);
        const other = await openPolicy(path.join(folder, 'tiny'), { threads: 1 });
        await assert.rejects(ask('x', 1, {}, other), { name: 'ChatBackendError', status: 400, type: 'invalid_request_error', message });
        assert.equal((await other.logprobs([{ tokens: [1, 2], mask: [0, 1], temperature: 1 }])).length, 1);
        await other.close();
      }
    });

    it('a folder that cannot be used is refused with the reason', async () => {
      await assert.rejects(openPolicy(path.join(folder, 'nothing')), { name: 'TrainerError', code: 'not_found', message: /There is no .*config.json/ });
      writeFileSync(path.join(folder, 'tiny', 'model.safetensors'), 'junk');
      await assert.rejects(openPolicy(path.join(folder, 'tiny')), { name: 'TrainerError', code: 'bad_input', message: /not a valid safetensors file/ });
    });
  });
});
