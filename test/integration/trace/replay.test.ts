import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import type { StartRun } from '../../../trainer/protocol/rpc.ts';
import { DevResult, type Run } from '../../../trainer/protocol/run.ts';
import { attr, isLlmCall, type Span } from '../../../trainer/protocol/span.ts';
import { openTrainer, type Trainer } from '../../../trainer/server/trainer.ts';
import { say, startOpenAIServer, type OpenAIServer } from '../../fixtures/openai-server.ts';
import { makeWorkspace, type Workspace } from '../runs/workspace.ts';

/** Asks which city, looks its temperature up with a tool that leaves a mark when it runs, and asks for the answer. */
const pythonAgent = `
import json, os, urllib.request
from agent_trainer import operation, rollout

def chat(llm, messages):
    body = json.dumps({"model": llm.model, "messages": messages}).encode()
    request = urllib.request.Request(llm.endpoint + "/chat/completions", body, {"content-type": "application/json", "authorization": "Bearer " + llm.api_key})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["choices"][0]["message"]["content"]

@operation("look_up")
def look_up(city, log):
    with open(log, "a") as file:
        file.write(city + "\\n")
    return {"city": city, "degrees": 21}

@rollout
def weather(task, llm):
    messages = [{"role": "user", "content": task["question"]}]
    with operation("plan"):
        city = chat(llm, messages)
    result = look_up(city, task["log"])
    messages += [{"role": "assistant", "content": city}, {"role": "user", "content": "Result: " + json.dumps(result)}]
    return 1.0 if chat(llm, messages) == "cold" else 0.0
`;
const nodeAgent = `
import { appendFileSync } from 'node:fs';
import { operation, rollout } from 'agent-trainer/runtime';

const chat = async (llm: { endpoint: string; api_key: string; model: string }, messages: object[]): Promise<string> => {
  const response = await fetch(llm.endpoint + '/chat/completions', {
    method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer ' + llm.api_key }, body: JSON.stringify({ model: llm.model, messages }),
  });
  return ((await response.json()) as any).choices[0].message.content;
};
const lookUp = operation('look_up', async (city: string, log: string) => {
  appendFileSync(log, city + '\\n');
  return { city, degrees: 21 };
});

export const weather = rollout(async (task: { question: string; log: string }, { llm }) => {
  const messages: object[] = [{ role: 'user', content: task.question }];
  const city = await operation('plan', chat)(llm, messages);
  const result = await lookUp(city, task.log);
  messages.push({ role: 'assistant', content: city }, { role: 'user', content: 'Result: ' + JSON.stringify(result) });
  return (await chat(llm, messages)) === 'cold' ? 1 : 0;
});
`;

for (const [file, agent] of [['agent.py', pythonAgent], ['agent.ts', nodeAgent]] as const) {
  describe(`replay of ${file}`, function () {
    this.timeout(60_000); // worker processes start in each
    let workspace: Workspace;
    let trainer: Trainer;
    let model: OpenAIServer;
    let log = '';

    before(async () => {
      model = await startOpenAIServer(say('warm'));
      workspace = makeWorkspace({ [file]: agent });
      log = join(workspace.folder, 'log.txt');
      workspace.write('tasks.jsonl', [{ id: 't', question: 'Where?', log }]);
      trainer = await openTrainer({ workspace: workspace.folder });
    });
    after(async () => {
      await trainer.close();
      await model.close();
      workspace.remove();
    });

    const toEnd = async (request: StartRun): Promise<{ run: Run; rollout_id: string; spans: Span[]; calls: Span[] }> => {
      const run = await trainer.runs.wait(trainer.runs.start(request).run_id);
      assert.equal(run.status, 'succeeded', run.error ?? '');
      const { rollout_id } = DevResult.parse(run.result).rollouts[0]!;
      const spans = trainer.store.listSpans(rollout_id);
      return { run, rollout_id, spans, calls: spans.filter(isLlmCall) };
    };
    const executions = (): string[] => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
    const lookUpOf = (spans: Span[]): Span => spans.find((span) => span.attributes[attr.operationLabel] === 'look_up') ?? assert.fail('no tool call');
    let original = { rollout_id: '', requests: 0 };

    it('the record: two calls and a tool with a plain result', async () => {
      model.next(say('Oslo'));
      const { rollout_id, spans, calls } = await toEnd({ kind: 'dev', agent: file, data: 'tasks.jsonl', policy: model.url });
      assert.equal(calls.length, 2);
      assert.equal(lookUpOf(spans).attributes[attr.operationReplayable], true);
      assert.deepEqual(executions(), ['Oslo']);
      assert.equal(trainer.store.getRollout(rollout_id)?.attempt?.reward, 0);
      original = { rollout_id, requests: model.requests.length };
    });

    it('a changed tool result: what came before is answered from the record, and the tool does not run', async () => {
      model.next(say('cold'));
      const message = { role: 'user' as const, content: 'Result: {"degrees":-9}' };
      const { rollout_id, spans, calls, run } = await toEnd({ kind: 'dev', policy: model.url, replay: { rollout_id: original.rollout_id, call_index: 1, edits: [{ index: 2, message }] } });
      assert.notEqual(rollout_id, original.rollout_id);
      const asked = model.requests.slice(original.requests).filter(({ path }) => path.endsWith('/chat/completions'));
      assert.deepEqual(asked.map(({ body }) => (body['messages'] as { content: string }[]).map(({ content }) => content)), [['Where?', 'Oslo', 'Result: {"degrees":-9}']]);
      assert.deepEqual(executions(), ['Oslo'], 'not once more');
      assert.deepEqual(calls.map(({ attributes }) => [attributes[attr.replayed], attributes[attr.replayEdited]]), [[true, undefined], [undefined, true]]);
      assert.equal(lookUpOf(spans).attributes[attr.replayed], true);
      assert.deepEqual(JSON.parse(String(lookUpOf(spans).attributes[attr.operationOutput])), { city: 'Oslo', degrees: 21 });
      const rollout = trainer.store.getRollout(rollout_id);
      assert.equal(rollout?.attempt?.reward, 1);
      assert.deepEqual(rollout?.metadata?.['replay_of'], { rollout_id: original.rollout_id, attempt_id: trainer.store.getRollout(original.rollout_id)?.attempt?.attempt_id, call_index: 1 });
      assert.deepEqual((run.config as { replay_of: object }).replay_of, { run_id: trainer.store.getRollout(original.rollout_id)?.run_id, rollout_id: original.rollout_id, attempt_id: trainer.store.getRollout(original.rollout_id)?.attempt?.attempt_id });
      assert.equal(trainer.store.getRollout(original.rollout_id)?.attempt?.reward, 0, 'the old one stays');
    });

    it('a changed prompt: a tool asked for something else runs', async () => {
      model.next(say('Rome'), say('warm'));
      const edits = [{ index: 0, message: { role: 'user' as const, content: 'In the south?' } }];
      const { calls, spans } = await toEnd({ kind: 'dev', policy: model.url, replay: { rollout_id: original.rollout_id, call_index: 0, edits } });
      assert.deepEqual(executions(), ['Oslo', 'Rome']);
      assert.equal(lookUpOf(spans).attributes[attr.replayed], undefined);
      // The agent sends its own first message again with the second call: the edit is kept there too.
      assert.equal((JSON.parse(String(calls[1]?.attributes[attr.inputMessages])) as { content: string }[])[0]?.content, 'In the south?');
    });

    it('unchanged and from the end it is the record again', async () => {
      const { calls, spans } = await toEnd({ kind: 'dev', policy: model.url, replay: { rollout_id: original.rollout_id, call_index: 1 } });
      assert.equal(calls[1]?.attributes[attr.replayEdited], undefined);
      assert.equal(calls[0]?.attributes[attr.outputMessages], trainer.store.listSpans(original.rollout_id).find(isLlmCall)?.attributes[attr.outputMessages]);
      assert.equal(lookUpOf(spans).attributes[attr.replayed], true);
    });

    it('runs under the overlay of the record', async () => {
      const { store } = trainer;
      const { run_id, input, task_id } = store.getRollout(original.rollout_id)!;
      const { resources_id } = store.addResources({ candidate: { resource_type: 'source_overlay', files: [{ path: join(workspace.folder, file), text: agent.replace('cold', 'warm') }] } });
      const { rollout_id } = store.enqueueRollouts([{ run_id, input, task_id, resources_id }])[0]!;
      const { attempt_id } = store.dequeueRollout('w', { rollout_id })!.attempt!;
      store.addSpans(store.listSpans(original.rollout_id).map((span) => ({ ...span, rollout_id, attempt_id })));
      store.finishAttempt(rollout_id, attempt_id, { outcome: 'scored', reward: 0 });
      const replayed = await toEnd({ kind: 'dev', policy: model.url, replay: { rollout_id, call_index: 1 } });
      assert.equal(store.getRollout(replayed.rollout_id)?.attempt?.reward, 1);
    });

    it('refuses a call that is not there', () => {
      assert.throws(() => trainer.runs.start({ kind: 'dev', replay: { rollout_id: original.rollout_id, call_index: 7 } }), (error) => error instanceof TrainerError && /no LLM call number 8/.test(error.message));
      assert.throws(() => trainer.runs.start({ kind: 'dev', replay: { rollout_id: 'ro-none', call_index: 0 } }), (error) => error instanceof TrainerError && error.code === 'not_found');
    });
  });
}
