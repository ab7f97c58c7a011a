import assert from 'node:assert/strict';
import type { Memento, SecretStorage } from 'vscode';
import { debugConfiguration } from '../../../src/debug/debug-configuration.ts';
import { capabilityMeaning, capabilityRows } from '../../../src/models/capability-view.ts';
import { completionOf, editorMessages, editorTools } from '../../../src/models/editor-messages.ts';
import { EndpointBook } from '../../../src/models/endpoints.ts';
import { ChatCompletion } from '../../../trainer/protocol/chat.ts';
import type { DebugLaunch, EndpointCapabilities } from '../../../trainer/protocol/endpoints.ts';

const yes = { state: 'yes', detail: 'It does.' } as const;
const no = { state: 'no', detail: 'It does not.' } as const;
const capabilities = (patch: Partial<EndpointCapabilities> = {}): EndpointCapabilities => ({ url: 'http://127.0.0.1:1/v1', model: 'm', models: ['m', 'n'], chat: yes, token_ids: no, logprobs: no, tools: yes, streaming: yes, ...patch });

describe('what an endpoint can do', () => {
  it('is a row for each question', () => {
    assert.deepEqual(capabilityRows(capabilities()).map(({ icon, name, answer }) => `${icon} ${name}: ${answer}`), [
      'pass Chat completions: Yes', 'pass Models: m', 'circle-slash Token ids: No', 'circle-slash Log-probabilities: No', 'pass Tools: Yes', 'pass Streaming: Yes', 'pass Prompt tuning: Yes', 'circle-slash Reinforcement learning: No',
    ]);
  });

  it('means something for tuning and training', () => {
    assert.equal(capabilityMeaning(capabilities()), 'Prompt tuning: Yes. Reinforcement learning: No.');
    assert.equal(capabilityMeaning(capabilities({ token_ids: yes })), 'Prompt tuning: Yes. Reinforcement learning: Yes.');
    assert.match(capabilityMeaning(capabilities({ chat: no })), /nothing can be run/);
  });
});

describe('messages for the models of the editor', () => {
  it('have two roles, and parts for calls and results', () => {
    assert.deepEqual(editorMessages([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Add ' }, { type: 'text', text: '2 and 3.' }] },
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":2}' } }, { id: 'c2', type: 'function', function: { name: 'add', arguments: 'broken' } }] },
      { role: 'tool', tool_call_id: 'c1', content: '5' },
    ]), [
      { role: 'user', parts: [{ kind: 'text', text: 'Be brief.' }] },
      { role: 'user', parts: [{ kind: 'text', text: 'Add 2 and 3.' }] },
      { role: 'assistant', parts: [{ kind: 'call', id: 'c1', name: 'add', input: { a: 2 } }, { kind: 'call', id: 'c2', name: 'add', input: { text: 'broken' } }] },
      { role: 'user', parts: [{ kind: 'result', id: 'c1', text: '5' }] },
    ]);
  });

  it('tools keep name, description and schema', () => {
    const tools = [{ type: 'function', function: { name: 'add', description: 'Adds.', parameters: { type: 'object', properties: {} } } }, { type: 'web_search' }];
    assert.deepEqual(editorTools({ model: 'm', messages: [{ role: 'user', content: 'x' }], tools }), [{ name: 'add', description: 'Adds.', inputSchema: { type: 'object', properties: {} } }]);
  });

  it('an answer is a completion that the gateway takes', () => {
    const spoken = ChatCompletion.parse(completionOf('m', 'Hello.', []));
    assert.deepEqual([spoken.choices[0]?.message.content, spoken.choices[0]?.finish_reason], ['Hello.', 'stop']);
    const called = ChatCompletion.parse(completionOf('m', '', [{ id: 'c1', name: 'add', input: { a: 2 } }]));
    assert.deepEqual([called.choices[0]?.message.content, called.choices[0]?.finish_reason, called.choices[0]?.message.tool_calls?.[0]?.function], [null, 'tool_calls', { name: 'add', arguments: '{"a":2}' }]);
  });
});

describe('endpoints a user has entered', () => {
  it('are remembered latest first; keys are in the secret storage alone', async () => {
    const state = new Map<string, unknown>();
    const secrets = new Map<string, string>();
    const book = new EndpointBook(
      { get: async (key: string) => secrets.get(key), store: async (key: string, value: string) => void secrets.set(key, value), delete: async (key: string) => void secrets.delete(key) } as unknown as SecretStorage,
      { get: (key: string) => state.get(key), update: async (key: string, value: unknown) => void state.set(key, value) } as unknown as Memento,
    );
    await book.remember({ url: 'http://a/v1', name: 'x' });
    await book.remember({ url: 'http://b/v1', name: undefined });
    await book.remember({ url: 'http://a/v1', name: 'x' });
    assert.deepEqual(book.list(), [{ url: 'http://a/v1', name: 'x' }, { url: 'http://b/v1', name: undefined }]);
    await book.setKey('http://a/v1', 'sk-1');
    assert.equal(await book.key('http://a/v1'), 'sk-1');
    assert.doesNotMatch(JSON.stringify([...state]), /sk-1/);
    await book.setKey('http://a/v1', '');
    assert.equal(await book.key('http://a/v1'), undefined);
  });
});

describe('the debugger of a rollout', () => {
  const launch: DebugLaunch = {
    run_id: 'ru-1', rollout_id: 'ro-1', language: 'node', command: '/bin/node', interpreter_args: ['--import', 'file:///x/register.mjs'], program: '/x/node/worker.js', cwd: '/w',
    env: { AGENT_TRAINER_TOKEN: 't', ELECTRON_RUN_AS_NODE: null }, runtime: '/x',
  };

  it('JavaScript: VS Code\'s own debugger starts the worker, and skips our code', () => {
    const { type, runtimeExecutable, runtimeArgs, program, env, skipFiles } = debugConfiguration(launch, 'Rollout');
    assert.deepEqual({ type, runtimeExecutable, runtimeArgs, program, env }, { type: 'node', runtimeExecutable: '/bin/node', runtimeArgs: launch.interpreter_args, program: '/x/node/worker.js', env: launch.env });
    assert.deepEqual(skipFiles, ['<node_internals>/**', '/x/**']);
  });

  it('Python: debugpy runs the worker\'s module by the interpreter of the workspace', () => {
    const { type, module, python, pythonArgs, env } = debugConfiguration({ ...launch, language: 'python', command: '/w/.venv/bin/python', interpreter_args: ['-u'], program: 'agent_trainer.worker' }, 'Rollout');
    assert.deepEqual({ type, module, python, pythonArgs, env }, { type: 'debugpy', module: 'agent_trainer.worker', python: '/w/.venv/bin/python', pythonArgs: ['-u'], env: { AGENT_TRAINER_TOKEN: 't' } });
  });
});
