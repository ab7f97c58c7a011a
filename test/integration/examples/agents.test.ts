import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sqlAgent, type SqlTask } from '../../../examples/sql-agent/agent.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const tasks = readFileSync(`${root}examples/sql-agent/data/heldout.jsonl`, 'utf8').trimEnd().split('\n').slice(0, 6).map((line) => JSON.parse(line) as SqlTask);

interface Request { messages: { role: string; content: string }[] }

/** A scripted model: the first query fails, is found incorrect, and the second is right or wrong by turns. */
const script = (task: SqlTask, index: number): string[] => [
  'SELECT nothing FROM nowhere', 'incorrect', index % 2 === 0 ? `\`\`\`sql\n${task.query};\n\`\`\`` : 'SELECT 1, 2, 3, 4', 'correct',
];

const PYTHON_DRIVER = `
import json, sys
sys.path[:0] = ["runtime/python", "examples/sql-agent"]
from agent import sql_agent
from agent_trainer import LLM
task, endpoint = json.load(sys.stdin)
print(sql_agent(task, LLM(endpoint=endpoint, model="scripted", api_key="key")))
`;

describe('the two SQL agents', () => {
  let server: Server;
  let endpoint: string;
  let answers: string[] = [];
  let requests: Request[] = [];

  before(async () => {
    server = createServer((request, response) => {
      void json(request).then((body) => {
        requests.push(body as Request);
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: answers.shift() ?? '' } }] }));
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  });
  after(() => { server.close(); });

  async function record(run: () => Promise<number>, script: string[]): Promise<{ reward: number; requests: Request[] }> {
    answers = [...script];
    requests = [];
    return { reward: await run(), requests };
  }

  async function runPython(task: SqlTask): Promise<number> {
    const child = promisify(execFile)('python3', ['-c', PYTHON_DRIVER], { cwd: root });
    child.child.stdin?.end(JSON.stringify([task, endpoint]));
    return Number((await child).stdout);
  }

  for (const [index, task] of tasks.entries()) {
    it(`say and score the same on ${task.id}`, async () => {
      const inTypeScript = await record(async () => await sqlAgent(task, { llm: { endpoint, model: 'scripted', api_key: 'key', sampling_parameters: {} } }), script(task, index));
      const inPython = await record(() => runPython(task), script(task, index));
      assert.deepEqual(inPython, inTypeScript);
      assert.equal(inTypeScript.reward, index % 2 === 0 ? 1 : 0);
      assert.equal(inTypeScript.requests.length, 4);
    });

    it(`keep the reference of ${task.id} out of the conversation`, async () => {
      const { requests } = await record(async () => await sqlAgent(task, { llm: { endpoint, model: 'scripted', api_key: 'key', sampling_parameters: {} } }),
        ['SELECT 1', 'incorrect', 'SELECT 2', 'incorrect', 'SELECT 3']);
      assert.equal(requests.length, 5);
      for (const request of requests) assert.ok(!JSON.stringify(request).includes(JSON.stringify(task.query).slice(1, -1)));
    });
  }
});
