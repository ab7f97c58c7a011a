import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { attr, isLlmCall } from '../../../trainer/protocol/span.ts';
import type { Span } from '../../../trainer/protocol/span.ts';
import { newId } from '../../../trainer/store/ids.ts';
import { openTrainer } from '../../../trainer/server/trainer.ts';
import type { Trainer } from '../../../trainer/server/trainer.ts';
import { say, startOpenAIServer } from '../../fixtures/openai-server.ts';
import { letterTasks, makeWorkspace, nodeAgent } from '../runs/workspace.ts';
import type { Workspace } from '../runs/workspace.ts';
import { Client, open } from './client.ts';

describe('trainer server', () => {
  let workspace: Workspace;
  let trainer: Trainer;
  let tokenFile: string;

  beforeEach(async () => {
    workspace = makeWorkspace({ 'agent.ts': nodeAgent, 'tasks.jsonl': letterTasks(4) });
    trainer = await openTrainer({ workspace: workspace.folder, announce: true });
    tokenFile = trainer.tokenFile ?? '';
  });
  afterEach(async () => {
    await trainer.close();
    workspace.remove();
  });

  const get = async (route: string, headers: Record<string, string> = {}): Promise<number | undefined> => {
    const message = httpRequest(trainer.url + route, { headers }).end();
    const [response] = await once(message, 'response') as [IncomingMessage];
    response.resume();
    return response.statusCode;
  };
  const upgradeStatus = async (...args: Parameters<typeof open> extends [string, ...infer Rest] ? Rest : never): Promise<number | undefined> => {
    const socket = open(trainer.url, ...args);
    socket.on('error', () => undefined);
    const [, response] = await once(socket, 'unexpected-response') as [unknown, IncomingMessage];
    socket.terminate();
    return response.statusCode;
  };

  describe('access', () => {
    it('healthz answers without a token, and refuses a wrong one', async () => {
      assert.equal(await get('/healthz'), 200);
      assert.equal(await get('/healthz', { authorization: `Bearer ${trainer.token}` }), 200);
      assert.equal(await get('/healthz', { authorization: 'Bearer other' }), 401);
    });

    it('a foreign host name or origin is refused, with the right token too', async () => {
      const authorization = `Bearer ${trainer.token}`;
      assert.equal(await get('/healthz', { host: 'evil.example' }), 403);
      assert.equal(await get('/v1/models', { host: 'evil.example', authorization }), 403);
      assert.equal(await get('/healthz', { origin: 'https://evil.example' }), 403);
      assert.equal(await upgradeStatus({ headers: { authorization, origin: 'https://evil.example' } }), 403);
      assert.equal(await upgradeStatus({ headers: { authorization, host: 'evil.example' } }), 403);
    });

    it('a WebSocket needs the token, in the header or as subprotocol', async () => {
      assert.equal(await upgradeStatus(), 401);
      assert.equal(await upgradeStatus({ headers: { authorization: 'Bearer other' } }), 401);
      const socket = open(trainer.url, {}, ['agent-trainer', `bearer.${trainer.token}`]);
      await once(socket, 'open');
      assert.equal(socket.protocol, 'agent-trainer');
      socket.terminate();
    });

    it('the gateway has a key of its own', async () => {
      const { gateway_key } = JSON.parse(readFileSync(tokenFile, 'utf8')) as { gateway_key: string };
      assert.notEqual(gateway_key, trainer.token);
      assert.equal(await get('/v1/models', { authorization: `Bearer ${trainer.token}` }), 401);
      assert.equal(await get('/v1/models', { authorization: `Bearer ${gateway_key}` }), 503);
    });

    it('an unknown address is an error in OpenAI\'s shape', async () => {
      const response = await fetch(`${trainer.url}/chat/completions`, { method: 'POST' });
      assert.equal(response.status, 404);
      assert.match((await response.json() as { error: { message: string } }).error.message, /POST \/chat\/completions.*\/v1/);
      const unreadable = await fetch(`${trainer.url}/rollout/%zz/attempt/x/v1/chat/completions`, { method: 'POST' });
      assert.equal(unreadable.status, 400);
      assert.match((await unreadable.json() as { error: { message: string } }).error.message, /not a valid url/);
    });

    it('the token file is for its owner alone and goes with the trainer', async () => {
      assert.equal(tokenFile, path.join(workspace.folder, '.agent-trainer', 'server.json'));
      assert.equal(statSync(tokenFile).mode & 0o777, 0o600);
      const { url, token, pid } = JSON.parse(readFileSync(tokenFile, 'utf8')) as Record<string, unknown>;
      assert.deepEqual({ url, token, pid }, { url: trainer.url, token: trainer.token, pid: process.pid });
      await trainer.close();
      assert.throws(() => statSync(tokenFile), /ENOENT/);
      const unannounced = await openTrainer({ workspace: workspace.folder });
      assert.equal(unannounced.tokenFile, null);
      assert.throws(() => statSync(tokenFile), /ENOENT/);
      await unannounced.close();
      assert.equal(readFileSync(path.join(workspace.folder, '.agent-trainer', '.gitignore'), 'utf8'), '*\n');
    });
  });

  describe('calls', () => {
    it('wrong ones are answered with code and reason, and the connection lives on', async () => {
      const client = await Client.connect(trainer);
      await assert.rejects(client.call('nonsense' as 'runs.list', {}), /bad_input: There is no method "nonsense".*runs\.start/);
      await assert.rejects(client.call('constructor' as 'runs.list', {}), /bad_input: There is no method/);
      await assert.rejects(client.call('runs.get', { run_id: 7 } as unknown as { run_id: string }), /bad_input: .*run_id/);
      await assert.rejects(client.call('runs.get', { run_id: 'ru-none' }), /not_found: .*ru-none/);
      await assert.rejects(client.call('rollouts.list', { run_id: 'ru-none' }), /not_found: /);
      await assert.rejects(client.call('trace.get', { rollout_id: 'ro-none' }), /not_found: /);
      await assert.rejects(client.call('runs.cancel', { run_id: 'ru-none' }), /not_found: /);
      await assert.rejects(client.call('runs.start', { kind: 'dev', agent: 'missing.py', data: 'tasks.jsonl' }), /missing\.py/);
      assert.deepEqual(await client.call('runs.list', undefined as never), []); // without params at all
      await client.close();
    });

    for (const [name, frame] of [['text that is no JSON', 'hello'], ['a call without id', '{"method":"runs.list"}'], ['a binary frame', Buffer.from([1, 2])]] as const) {
      it(`${name} ends the connection, and only that`, async () => {
        const [bad, good] = [await Client.connect(trainer), await Client.connect(trainer)];
        const closed = once(bad.socket, 'close');
        bad.socket.send(frame);
        assert.equal((await closed)[0], 1008);
        assert.deepEqual(await good.call('runs.list', {}), []);
        await good.close();
      });
    }
  });

  it('a dry run over the wire: live events, result, trace', async () => {
    const model = await startOpenAIServer(say('eeee!!!!'));
    const client = await Client.connect(trainer);
    try {
      await client.call('events.subscribe', {});
      const { run_id } = await client.call('runs.start', { kind: 'dev', agent: 'agent.ts', data: 'tasks.jsonl', limit: 2, policy: model.url });
      await client.seen((events) => events.some((event) => event.type === 'run' && event.run.status !== 'running'));
      const { run } = await client.call('runs.get', { run_id });
      assert.equal(run.status, 'succeeded', run.error ?? '');
      const rollouts = await client.call('rollouts.list', { run_id });
      assert.deepEqual(rollouts.map(({ attempt }) => attempt?.reward), [0.5, 0.5]);

      const { rollout, spans } = await client.call('trace.get', { rollout_id: rollouts[0]!.rollout_id });
      assert.equal(rollout.status, 'succeeded');
      assert.equal(spans.find(isLlmCall)?.attributes[attr.responseModel], 'tiny');
      const live = client.events.flatMap((event) => (event.type === 'spans' ? event.spans : [])).filter((span) => span.rollout_id === rollout.rollout_id);
      assert.deepEqual(live.map((span) => span.span_id).sort(), spans.map((span) => span.span_id).sort());
      await assert.rejects(client.call('runs.cancel', { run_id }), /conflict: .*already ended/);
    } finally {
      await client.close();
      await model.close();
    }
  });

  it('cancel over the wire ends a run that waits for its model', async () => {
    let asked = (): void => undefined;
    const waiting = new Promise<void>((resolve) => { asked = resolve; });
    const model = await startOpenAIServer(() => asked());
    const client = await Client.connect(trainer);
    try {
      const { run_id } = await client.call('runs.start', { kind: 'dev', agent: 'agent.ts', data: 'tasks.jsonl', limit: 1, policy: model.url });
      await waiting;
      assert.equal((await client.call('runs.cancel', { run_id })).status, 'cancelled');
      const [rollout] = await client.call('rollouts.list', { run_id });
      assert.equal(rollout?.status, 'cancelled');
    } finally {
      await client.close();
      await model.close();
    }
  });

  it('a client that does not read costs bounded memory, and is told what it missed', async () => {
    const client = await Client.connect(trainer);
    const run_id = newId('ru');
    await client.call('events.subscribe', { run_id });
    trainer.store.createRun({ run_id, kind: 'dev', status: 'running', phase: 'rollouts', agent: 'a', config: {}, create_time: 0, end_time: null, error: null, result: null });
    const [rollout] = trainer.store.enqueueRollouts([{ input: 1, run_id }]);
    const attempt_id = trainer.store.dequeueRollout('w')!.attempt!.attempt_id;
    const padding = 'x'.repeat(20_000);
    const batch = (from: number): Span[] => Array.from({ length: 100 }, (_, index) => ({
      rollout_id: rollout!.rollout_id, attempt_id, sequence_id: from + index, trace_id: '0'.repeat(32), span_id: String(from + index).padStart(16, '0'), parent_id: null,
      name: 'x', status: { status_code: 'OK' }, attributes: { padding }, events: [], start_time: 0, end_time: 1, resource: { attributes: {} },
    }));
    client.socket.pause();
    for (let from = 0; from < 2000; from += 100) trainer.store.addSpans(batch(from)); // 40 MB
    const buffered = [...trainer.connections.clients].reduce((bytes, socket) => bytes + socket.bufferedAmount, 0);
    assert.ok(buffered < 8_000_000, `${buffered} bytes`);
    trainer.store.updateRun(run_id, { status: 'succeeded' });
    client.socket.resume();
    await client.seen((events) => events.some((event) => event.type === 'notice'));
    const received = client.events.flatMap((event) => (event.type === 'spans' ? event.spans : [])).length;
    const notice = client.events.at(-1);
    assert.ok(notice?.type === 'notice');
    assert.equal(Number(/(\d+) spans/.exec(notice.message)?.[1]) + received, 2000);
    assert.ok(client.events.some((event) => event.type === 'run' && event.run.status === 'succeeded'));
    await client.close();
  });
});
