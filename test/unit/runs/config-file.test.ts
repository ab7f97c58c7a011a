import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import { stepsOf, TrainConfig } from '../../../trainer/protocol/config.ts';
import { loadConfig, nearestConfig } from '../../../trainer/runs/config-file.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';

interface JsonSchema { properties?: Record<string, JsonSchema>; description?: string }

const minimal = { agent: 'agent.ts', data: { train: 'train.jsonl' }, model: { path: 'policy' } };

describe('configuration file', () => {
  let folder: string;
  beforeEach(() => { folder = mkdtempSync(path.join(tmpdir(), 'config-')); });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (value: unknown) => {
    const file = path.join(folder, 'agent-trainer.json');
    writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
    return file;
  };
  const refused = (value: unknown, overrides?: Record<string, unknown>) => {
    const file = write(value);
    let message = '';
    assert.throws(() => loadConfig(file, overrides), (error) => {
      assert.ok(error instanceof TrainerError && error.code === 'bad_input');
      message = error.message;
      return true;
    });
    assert.ok(message.startsWith(file), message);
    return message.slice(file.length);
  };

  it('fills in the defaults and merges overrides deeply', () => {
    const { config, folder: base } = loadConfig(write({ ...minimal, grpo: { lr: 0.5, steps: 7 } }), { grpo: { steps: 3 }, seed: 9 });
    assert.equal(base, folder);
    assert.equal(config.grpo.steps, 3);
    assert.equal(config.grpo.lr, 0.5);
    assert.equal(config.grpo.group_size, 8);
    assert.equal(config.seed, 9);
    assert.deepEqual(config.sampling, { dtype: 'float32', temperature: 1, top_p: 1, top_k: 0 });
  });

  it('keeps the other defaults of sampling when one of its settings is given, and knows its settings', () => {
    const { config } = loadConfig(write({ ...minimal, sampling: { max_tokens: 32 }, eval_sampling: { max_tokens: 64 } }));
    assert.deepEqual(config.sampling, { dtype: 'float32', temperature: 1, top_p: 1, top_k: 0, max_tokens: 32 });
    assert.deepEqual(config.eval_sampling, { dtype: 'float32', temperature: 0, max_tokens: 64 });
    assert.match(refused({ ...minimal, sampling: { temprature: 1 } }), /"sampling.temprature".*did you mean "temperature"\?/);
  });

  it('explains every setting in the schema that editors show', () => {
    const explained = (schema: JsonSchema, name: string): string[] => (schema.properties
      ? Object.entries(schema.properties).flatMap(([key, value]) => explained(value, `${name}.${key}`))
      : schema.description === undefined ? [name] : []);
    assert.deepEqual(explained(z.toJSONSchema(TrainConfig, { io: 'input' }) as JsonSchema, ''), []);
  });

  it('names an unknown key and the one that was meant', () => {
    assert.equal(refused({ ...minimal, grpo: { stepz: 3 } }), ': "grpo.stepz" is not a known setting (did you mean "steps"?).');
    assert.match(refused({ ...minimal, rewardd: 3 }), /"rewardd" is not a known setting\./);
    assert.match(refused({ ...minimal, grpo: { groupSize: 3 } }), /did you mean "group_size"\?/);
    assert.match(refused({ ...minimal, runner: { runners: 3 } }), /"runner.runners".*did you mean "n_runners"\?/);
  });

  it('names every wrong field with its path', () => {
    const message = refused({ ...minimal, grpo: { train_batch_size: 0 }, data: { train: 5 } });
    assert.match(message, /"grpo.train_batch_size": too small/);
    assert.match(message, /"data.train": invalid input: expected string/);
    assert.match(refused({ data: { train: 'x' }, model: { path: 'p' } }), /"agent" is missing/);
    assert.match(refused(minimal, { grpo: { steps: 'three' } }), /"grpo.steps"/);
  });

  it('refuses settings of an algorithm that need each other', () => {
    const grpo = (settings: object, max_tokens?: number) => refused({ ...minimal, grpo: settings, ...(max_tokens === undefined ? {} : { sampling: { max_tokens } }) });
    assert.match(grpo({ group_size: 1 }), /grpo.group_size is 1, and grpo.adv_estimator "grpo" compares the rollouts of a group/);
    assert.match(grpo({ group_size: 1, adv_estimator: 'reinforce_plus_plus', filter_groups: { enable: true } }), /grpo.filter_groups needs groups of at least 2/);
    assert.match(grpo({ loss_agg_mode: 'seq-mean-token-sum-norm' }), /give grpo.loss_scale_factor, or sampling.max_tokens/);
    assert.match(grpo({ overlong_buffer: { len: 8 } }), /needs a sampling.max_tokens/);
    assert.match(refused({ ...minimal, sampling: { dtype: 'int8' } }), /sampling.dtype "int8" .* grpo.rollout_is "none" .* give grpo.rollout_is "token" or "sequence"/);
    assert.equal(loadConfig(write({ ...minimal, sampling: { dtype: 'int8' }, grpo: { rollout_is: 'token' } })).config.eval_sampling.dtype, 'float32');
    assert.match(grpo({ overlong_buffer: { len: 8 } }, 4), /needs a sampling.max_tokens of at least as many/);
    assert.equal(loadConfig(write({ ...minimal, grpo: { group_size: 1, adv_estimator: 'reinforce_plus_plus' } })).config.grpo.group_size, 1);
  });

  it('refuses to look for the best step where none is validated', () => {
    const best = (settings: object) => ({ ...minimal, checkpoints: { load_best_model_at_end: true }, ...settings });
    assert.match(refused(best({})), /load_best_model_at_end .* but grpo.test_freq is 0/);
    assert.match(refused(best({ algorithm: 'sft', sft: { data: 'x.jsonl' }, grpo: { test_freq: 1 } })), /but sft.test_freq is 0/);
    assert.match(refused(best({ grpo: { test_freq: 5, ema_decay: 0.9 } })), /load_best_model_at_end .* grpo.ema_decay .* leave one of them out/);
    assert.equal(loadConfig(write(best({ grpo: { test_freq: 5 } }))).config.checkpoints.load_best_model_at_end, true);
  });

  it('an algorithm that learns from examples needs them; steps are those of the algorithm', () => {
    assert.match(refused({ ...minimal, algorithm: 'sft' }), /"algorithm" is "sft", which learns from examples: give "sft": \{"data": \.\.\.\}/);
    assert.match(refused({ ...minimal, algorithm: 'ppo' }), /"algorithm"/);
    assert.match(refused({ ...minimal, algorithm: 'dpo', dpo: { data: 'x.jsonl', agent_match: '(' } }), /dpo.agent_match is not a regular expression/);
    const { config } = loadConfig(write({ ...minimal, algorithm: 'sft', sft: { data: { runs: ['ru-1'], min_reward: 1 } } }));
    assert.deepEqual([config.sft?.lr, config.sft?.lr_schedule, config.sft?.train_batch_size], [2e-5, 'linear', 8]);
    assert.equal(stepsOf(config), 100);
    assert.equal(stepsOf(loadConfig(write(minimal)).config), 30);
    assert.equal(stepsOf({ kind: 'eval' }), null);
  });

  it('trains low-rank factors where it is told to, at ten times the usual rate unless another is given', () => {
    const lora = (model: object, others: object = {}) => loadConfig(write({ ...minimal, ...others, model: { path: 'policy', ...model } })).config;
    const { lora_rank, lora_alpha, target_modules, use_rslora } = lora({}).model;
    assert.deepEqual({ lora_rank, lora_alpha, target_modules, use_rslora }, { lora_rank: 0, lora_alpha: 16, target_modules: 'all-linear', use_rslora: false });
    assert.equal(lora({}).grpo.lr, 1e-6);
    assert.equal(lora({ lora_rank: 8 }).grpo.lr, 1e-5);
    assert.equal(lora({ lora_rank: 8 }, { grpo: { lr: 3e-4 } }).grpo.lr, 3e-4);
    assert.equal(lora({ lora_rank: 8 }, { algorithm: 'sft', sft: { data: 'x.jsonl' } }).sft?.lr, 2e-4);
    assert.equal(lora({ lora_rank: 8 }, { algorithm: 'dpo', dpo: { data: 'x.jsonl' } }).dpo?.lr, 1e-5);
    assert.match(refused({ ...minimal, model: { path: 'policy', lora_rank: 8, target_modules: ['q_proj', 'c_attn'] } }), /"model.target_modules": "c_attn" is no linear layer: give "all-linear", or a list of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj/);
    assert.match(refused({ ...minimal, model: { path: 'policy', lora_rank: -1 } }), /"model.lora_rank"/);
    assert.equal(lora({ lora_rank: 8, base_dtype: 'int4' }).model.base_dtype, 'int4');
    assert.match(refused({ ...minimal, model: { path: 'policy', base_dtype: 'int4' } }), /model.base_dtype "int4" is for a model that stays as it is: give a model.lora_rank/);
    assert.match(refused({ ...minimal, model: { path: 'policy', lora_rank: 8, base_dtype: 'bfloat16' } }), /"model.base_dtype": bfloat16 cannot be computed with/);
  });

  it('goes on from an adapter, whose rank, alpha and layers are its own', () => {
    const model = { lora_adapter_path: 'adapter' };
    assert.deepEqual([loadConfig(write({ ...minimal, model })).config.model.path, loadConfig(write({ ...minimal, model })).config.grpo.lr], [undefined, 1e-5]);
    assert.equal(loadConfig(write({ ...minimal, model: { ...model, path: 'policy', base_dtype: 'int8' } })).config.model.base_dtype, 'int8');
    for (const given of [{ lora_rank: 8 }, { lora_alpha: 32 }, { target_modules: ['q_proj'] }, { use_rslora: true }]) {
      assert.match(refused({ ...minimal, model: { ...model, ...given } }), new RegExp(`model.${Object.keys(given)[0]} is that of the adapter in model.lora_adapter_path: leave it out`));
    }
    assert.match(refused({ ...minimal, model: { ...model, endpoint: 'http://localhost/v1' } }), /give either "path"/);
  });

  it('refuses numbers that would only fail later: moments that never decay, timers that go off at once', () => {
    assert.match(refused({ ...minimal, grpo: { betas: [1, 0.9] } }), /"grpo.betas.0": too big/);
    assert.match(refused({ ...minimal, runner: { timeout_seconds: 1e9 } }), /"runner.timeout_seconds": too big/);
    assert.match(refused({ ...minimal, threads: 100_000 }), /"threads": too big/);
    assert.match(refused({ ...minimal, model: { endpoint: 'ftp://localhost/v1' } }), /"model.endpoint": must be the http or https URL/);
  });

  it('a model is a path or an endpoint', () => {
    assert.match(refused({ ...minimal, model: {} }), /"model": give either "path"/);
    assert.match(refused({ ...minimal, model: { path: 'a', endpoint: 'http://localhost/v1' } }), /"model": give either "path"/);
  });

  it('names the line of broken JSON, and a file that is missing', () => {
    assert.match(refused('{\n  "agent": "x",\n  oops\n}'), / is not valid JSON \(line 3, column 3\): "oops"/);
    assert.match(refused('null'), / must hold a JSON object/);
    assert.match(refused([]), / must hold a JSON object/);
    assert.throws(() => loadConfig(path.join(folder, 'none.json')), (error) => error instanceof TrainerError && error.code === 'not_found' && error.message.includes('none.json'));
  });

  it('refuses what cannot train: greedy or truncated sampling, a broken expression', () => {
    assert.match(refused({ ...minimal, sampling: { temperature: 0 } }), /sampling.temperature is 0/);
    assert.match(refused({ ...minimal, sampling: { temperature: 1, top_p: 0.9 } }), /sampling.top_p/);
    assert.match(refused({ ...minimal, grpo: { agent_match: 'write(' } }), /grpo.agent_match is not a regular expression/);
  });

  it('accepts a byte order mark', () => {
    assert.equal(loadConfig(write(`\ufeff${JSON.stringify(minimal)}`)).config.agent, 'agent.ts');
  });

  it('finds the nearest file above the agent', () => {
    const file = write(minimal);
    mkdirSync(path.join(folder, 'a', 'b'), { recursive: true });
    assert.equal(nearestConfig(path.join(folder, 'a', 'b', 'agent.py')), file);
    assert.equal(nearestConfig(path.join(path.parse(folder).root, 'agent.py')), null);
  });
});
