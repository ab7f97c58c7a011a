import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Ask } from '../../../trainer/protocol/endpoints.ts';
import { discoverServers } from '../../../trainer/gateway/discover.ts';
import { openTrainer } from '../../../trainer/server/trainer.ts';
import type { Trainer } from '../../../trainer/server/trainer.ts';
import { completion, json, refuse, say, startOpenAIServer } from '../../fixtures/openai-server.ts';
import type { Answer, OpenAIServer } from '../../fixtures/openai-server.ts';
import { letterTasks, makeWorkspace, nodeAgent } from '../runs/workspace.ts';
import type { Workspace } from '../runs/workspace.ts';
import { Client } from '../server/client.ts';

/** Calls the tool it is offered, else says a word. */
const withTools: Answer = (request, response) => (Array.isArray(request.body['tools'])
  ? json(completion(request.body['model'], { tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":2,"b":3}' } }] }))(request, response)
  : say('Hello there.')(request, response));

/** A plain server: no token ids, no tools, everything in one piece. */
const plain: Answer = (request, response) => {
  if (request.body['tools'] !== undefined) return refuse(400, 'This model does not support tools.', { param: 'tools' })(request, response);
  if (request.body['return_token_ids'] !== undefined) return refuse(400, 'Unknown parameter: return_token_ids', { param: 'return_token_ids' })(request, response);
  if (request.body['logprobs'] !== undefined) return refuse(400, 'Unknown parameter: logprobs', { param: 'logprobs' })(request, response);
  return json(completion('tiny', { content: 'Hello.' }))(request, response);
};

describe('models that a request names', () => {
  let workspace: Workspace;
  let trainer: Trainer;
  let client: Client;
  let server: OpenAIServer | undefined;

  beforeEach(async () => {
    workspace = makeWorkspace({ 'agent.ts': nodeAgent, 'tasks.jsonl': letterTasks(8) });
    trainer = await openTrainer({ workspace: workspace.folder });
    client = await Client.connect(trainer);
  });
  afterEach(async () => {
    await client.close();
    await trainer.close();
    await server?.close();
    server = undefined;
    workspace.remove();
  });

  const states = async (url: string, more: { name?: string; api_key?: string; refresh?: boolean } = {}) => {
    const { model, chat, token_ids, logprobs, tools, streaming } = await client.call('models.probe', { url, ...more });
    return [model, ...[chat, token_ids, logprobs, tools, streaming].map(({ state }) => state)];
  };

  it('a server that can do everything is found out by four chat requests and one list, once', async () => {
    server = await startOpenAIServer(withTools);
    assert.deepEqual(await states(server.url), ['tiny', 'yes', 'yes', 'yes', 'yes', 'yes']);
    assert.ok(server.requests.length <= 5, `${server.requests.length} requests`);
    const asked = server.requests.length;
    await states(server.url);
    assert.equal(server.requests.length, asked, 'remembered');
    await states(server.url, { api_key: 'other' });
    assert.ok(server.requests.length > asked, 'another key is another question');
    const before = server.requests.length;
    await states(server.url, { refresh: true });
    assert.ok(server.requests.length > before, 'asked anew');
  });

  it('a plain server can chat and nothing more', async () => {
    server = await startOpenAIServer(plain);
    assert.deepEqual(await states(server.url), ['tiny', 'yes', 'no', 'no', 'no', 'no']);
  });

  it('a model that answers in text does not say whether it can call tools', async () => {
    server = await startOpenAIServer(say('Five.'));
    assert.deepEqual(await states(server.url), ['tiny', 'yes', 'yes', 'yes', 'unknown', 'yes']);
  });

  it('a server that refuses the key says so, without the key, and is asked again next time', async () => {
    server = await startOpenAIServer(refuse(401, 'Incorrect API key provided: sk-secret'));
    const { chat, tools } = await client.call('models.probe', { url: server.url, api_key: 'sk-secret' });
    assert.equal(chat.state, 'no');
    assert.match(chat.detail, /refused the key/);
    assert.doesNotMatch(JSON.stringify([chat, tools]), /sk-secret/);
    const asked = server.requests.length;
    await states(server.url, { api_key: 'sk-secret' });
    assert.ok(server.requests.length > asked);
  });

  it('nobody there is an error that names the server', async () => {
    await assert.rejects(client.call('models.probe', { url: 'http://127.0.0.1:9/v1' }), /upstream: .*127\.0\.0\.1:9/);
    await assert.rejects(client.call('models.probe', { url: 'file:///etc/passwd' }), /bad_input: /);
  });

  it('finds the servers that answer like model servers, and no others', async () => {
    server = await startOpenAIServer();
    const found = await discoverServers([{ name: 'Ollama', url: server.url }, { name: 'LM Studio', url: 'http://127.0.0.1:9/v1' }, { name: 'The trainer', url: trainer.url }]);
    assert.deepEqual(found, [{ name: 'Ollama', url: server.url, models: ['tiny'] }]);
  });

  it('a dry run uses the named endpoint with the key, which is written nowhere', async () => {
    server = await startOpenAIServer(say('aaaa!!!!'));
    await client.call('events.subscribe', { types: ['run'] });
    const { run_id } = await client.call('runs.start', { kind: 'dev', agent: 'agent.ts', data: 'tasks.jsonl', limit: 2, model: { kind: 'endpoint', url: server.url, name: 'named', api_key: 'sk-very-secret' } });
    await client.seen((events) => events.some((event) => event.type === 'run' && event.run.status !== 'running'));
    const { run } = await client.call('runs.get', { run_id });
    assert.equal(run.status, 'succeeded', run.error ?? '');
    const chat = server.requests.find(({ path: where }) => where.endsWith('/chat/completions'))!;
    assert.deepEqual([chat.headers.authorization, chat.body['model']], ['Bearer sk-very-secret', 'named']);
    for (const file of filesOf(workspace.folder)) assert.ok(!readFileSync(file).includes('sk-very-secret'), file);
  });

  it('a model of the editor is asked through the connection that started the run', async () => {
    const asks: Ask['ask'][] = [];
    client.socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Partial<Ask>;
      if (!frame.ask) return;
      asks.push(frame.ask);
      void client.call('models.answer', { ask_id: frame.ask.ask_id, outcome: { completion: completion('gpt-editor', { content: 'aa!!' }) as never } });
    });
    await client.call('events.subscribe', { types: ['run'] });
    const start = { kind: 'dev', agent: 'agent.ts', data: 'tasks.jsonl', model: { kind: 'editor', id: 'copilot/gpt', name: 'gpt-editor' } } as const;
    await assert.rejects(client.call('runs.start', start), /bad_input: .*at most 5/);
    await assert.rejects(client.call('runs.start', { ...start, policy: 'x', limit: 1 }), /bad_input: Give either "model" or "policy"/);
    await assert.rejects(client.call('runs.start', { kind: 'train', config_path: 'agent-trainer.json', model: start.model }), /bad_input: "model" is for dry runs, evaluations and searches/);
    const { run_id } = await client.call('runs.start', { ...start, limit: 2 });
    await client.seen((events) => events.some((event) => event.type === 'run' && event.run.status !== 'running'));
    const { run } = await client.call('runs.get', { run_id });
    assert.deepEqual([run.status, (run.result as { mean_reward: number }).mean_reward], ['succeeded', 0.5], run.error ?? '');
    assert.deepEqual(asks.map(({ model, request }) => [model, request.messages[0]?.content]).sort(), [['copilot/gpt', 'Say 0'], ['copilot/gpt', 'Say 1']]);
  });

  it('an editor that goes away fails the calls it was asked', async () => {
    const other = await Client.connect(trainer);
    const asked = new Promise<void>((resolve) => { other.socket.on('message', (data: Buffer) => { if (data.includes('"ask"')) resolve(); }); });
    await client.call('events.subscribe', { types: ['run'] });
    const { run_id } = await other.call('runs.start', { kind: 'dev', agent: 'agent.ts', data: 'tasks.jsonl', limit: 1, model: { kind: 'editor', id: 'm', name: 'm' } });
    await asked;
    await other.close();
    await client.seen((events) => events.some((event) => event.type === 'run' && event.run.status !== 'running'));
    const [rollout] = await client.call('rollouts.list', { run_id });
    assert.equal(rollout?.attempt?.outcome, 'infra_error');
    assert.match(rollout?.attempt?.error ?? '', /editor whose model was used has gone/);
  });
});

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true }).map((name) => path.join(folder, String(name))).filter((file) => statSync(file).isFile());
}
