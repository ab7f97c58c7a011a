/** The worker process: loads one agent, then runs one attempt after another. Started by the runner. */
import { Channel } from './channel.ts';
import { describeError } from './describe-error.ts';
import { flushOutput } from './flush.ts';
import { hookFetch } from './gateway-fetch.ts';
import { AgentNotFound, loadAgent, type LoadedAgent } from './load-agent.ts';
import { raised, runAttempt } from './run-attempt.ts';
import { state } from './state.ts';
import type { LoadMessage, RunMessage } from './types.ts';

let agent: LoadedAgent | undefined;
let file = '';
let attempt_id: string | null = null;

async function load(message: LoadMessage): Promise<void> {
  file = message.file;
  hookFetch(message.gateway);
  try {
    agent = await loadAgent(file, message.name);
  } catch (error) {
    if (!(error instanceof AgentNotFound)) console.error(error);
    channel.send({ type: 'load_failed', message: error instanceof AgentNotFound ? error.message : `${file} cannot be imported: ${describeError(error, file)}` });
    return;
  }
  channel.send({ type: 'ready', agent: agent.name });
}

async function run(message: RunMessage): Promise<void> {
  attempt_id = message.rollout.attempt_id;
  const result = await runAttempt(agent!, file, message, (sent) => channel.send(sent));
  await flushOutput();
  channel.send({ type: 'result', attempt_id, result });
  attempt_id = null;
}

// An error outside the agent's own call (a promise nobody awaited) ends the process, as it would without the trainer.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    console.error(error);
    if (attempt_id === null) process.exit(1);
    const message = { type: 'result', attempt_id, result: raised(error, file), leaving: true } as const;
    void flushOutput().then(() => channel.sendAndExit(message));
  });
}

state.inWorker = true;
const { AGENT_TRAINER_SOCKET: address, AGENT_TRAINER_TOKEN: token } = process.env;
// The agent and what it starts must not find the way into this channel by accident.
delete process.env.AGENT_TRAINER_SOCKET;
delete process.env.AGENT_TRAINER_TOKEN;
const channel = new Channel(address!, token!, (message) => void (message.type === 'load' ? load(message) : run(message)));
