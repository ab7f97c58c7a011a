import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ExampleTokens } from '../../../trainer/policy/example-tokens.ts';
import { TrainConfig } from '../../../trainer/protocol/config.ts';
import type { ScoredRow } from '../../../trainer/protocol/policy.ts';
import { attr } from '../../../trainer/protocol/span.ts';
import { loadExampleSet } from '../../../trainer/runs/load-examples.ts';
import { openTokenizer, type ModelTokenizer } from '../../../trainer/models/tokenizer.ts';
import { openStore, type Store } from '../../../trainer/store/store.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';
import { spansOf } from '../algorithms/scripted-agents.ts';

const user = (content: string) => ({ role: 'user' as const, content });
const assistant = (content: string) => ({ role: 'assistant' as const, content });

describe('examples in the tokens of a model', () => {
  let folder: string;
  let model: string;
  let tokenizer: ModelTokenizer;
  let store: Store;
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'examples-'));
    model = path.join(folder, 'policy');
    await makeTinyPolicy(model);
    tokenizer = await openTokenizer(model);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  beforeEach(() => { store = openStore(':memory:'); });
  afterEach(() => store.close());

  const trained = ({ tokens, mask }: ScoredRow) => tokens.filter((_, t) => mask[t]).map((id) => Buffer.from(tokenizer.bytesOf(id)).toString()).join('');
  const whole = ({ tokens }: ScoredRow) => tokens.map((id) => Buffer.from(tokenizer.bytesOf(id)).toString()).join('');
  const load = (settings: object, validation: { id: string; input: unknown; line: number }[] = []) => loadExampleSet(TrainConfig.parse({ agent: 'a', data: { train: 'x' }, model: { path: 'p' }, ...settings }), { store, folder, model, validation });
  const sft = async (data: unknown, validation?: Parameters<typeof load>[1]) => {
    const found = await load({ algorithm: 'sft', sft: { data } }, validation);
    assert.equal(found?.set.algorithm, 'sft');
    return { ...found, rows: found.set.examples };
  };

  it('a conversation is one row; the answers and their end are learned, prompts are not', async () => {
    writeFileSync(path.join(folder, 'talk.jsonl'), JSON.stringify({ messages: [user('Say 1'), assistant('e1'), user('Say 2'), assistant('e2')] }));
    const { rows, notices } = await sft('talk.jsonl');
    assert.equal(rows.length, 1);
    assert.equal(rows[0]!.length, 1);
    assert.equal(trained(rows[0]![0]!), 'e1<|im_end|>e2<|im_end|>');
    assert.equal(whole(rows[0]![0]!), `${tokenizer.renderChat([user('Say 1'), assistant('e1'), user('Say 2')], null)}e2<|im_end|>`);
    assert.deepEqual(notices, ['Learning from 1 conversations.']);
  });

  it('an answer is cut into tokens on its own, after exactly the prompt it would be asked with', async () => {
    const tokens = await ExampleTokens.open(model);
    const [answer] = tokens.answers({ messages: [user('Say 12'), assistant(' assistant')], tools: null, from: 0 });
    assert.deepEqual(answer, { prompt: tokenizer.encode(tokenizer.renderChat([user('Say 12')], null)), response: tokenizer.encode(' assistant<|im_end|>') });
  });

  it('what exceeds the context is left out and told', async () => {
    const rows = [assistant('short'), assistant('long '.repeat(200))].map((answer) => JSON.stringify({ prompt: [user('Say 1')], completion: [answer] }));
    writeFileSync(path.join(folder, 'long.jsonl'), rows.join('\n'));
    assert.deepEqual((await sft('long.jsonl')).notices, ['Learning from 1 conversations.', "1 of 2 conversations are longer than the model's context and left out."]);
    writeFileSync(path.join(folder, 'long.jsonl'), rows[1]!);
    await assert.rejects(sft('long.jsonl'), /There are no conversations to learn from: all 1 are longer than the model's context/);
  });

  const record = (input: object, reward: number, answer: string) => {
    if (!store.getRun('ru-1')) store.createRun({ run_id: 'ru-1', kind: 'dev', status: 'succeeded', phase: 'done', agent: 'a', config: {}, create_time: 1, end_time: 2, error: null, result: null });
    store.enqueueRollouts([{ run_id: 'ru-1', input }]);
    const rollout = store.dequeueRollout('w')!;
    store.addSpans(spansOf(store, rollout, [{ prompt: [], response: [], attributes: { [attr.inputMessages]: JSON.stringify([user(JSON.stringify(input))]), [attr.outputMessages]: JSON.stringify([assistant(answer)]) } }]));
    store.finishAttempt(rollout.rollout_id, rollout.attempt!.attempt_id, { outcome: 'scored', reward });
  };

  it('the good rollouts of earlier runs teach, but not those on validation tasks', async () => {
    record({ q: 1 }, 1, 'e1');
    record({ q: 2 }, 0.4, 'e2');
    record({ q: 3 }, 0.5, 'e3');
    record({ q: 4 }, 1, 'e4');
    const { rows } = await sft({ runs: ['ru-1'], min_reward: 0.5 }, [{ id: 'v', input: { q: 4, id: 'other' }, line: 1 }]);
    assert.deepEqual(rows.map(([row]) => trained(row!)), ['e1<|im_end|>', 'e3<|im_end|>']);
    await assert.rejects(sft({ runs: ['ru-1'], min_reward: 2 }), /no complete call belongs to a rollout with min_reward/);
    await assert.rejects(sft({ runs: ['ru-9'], min_reward: 0 }), /There is no run ru-9/);
  });

  it('of the answers to the same messages the best is preferred to the worst', async () => {
    record({ q: 1 }, 0.5, 'middle');
    record({ q: 1 }, 1, 'best');
    record({ q: 1 }, 0, 'worst');
    record({ q: 2 }, 1, 'alone');
    record({ q: 3 }, 1, 'same');
    record({ q: 3 }, 1, 'as good');
    const found = await load({ algorithm: 'dpo', dpo: { data: { runs: ['ru-1'] } } });
    assert.ok(found?.set.algorithm === 'dpo');
    assert.deepEqual(found.set.examples.map(({ chosen, rejected }) => [chosen.map(trained), rejected.map(trained)]), [[['best<|im_end|>'], ['worst<|im_end|>']]]);
  });
});
