import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { letterTasks, makeWorkspace } from '../runs/workspace.ts';

const cli = fileURLToPath(new URL('../../../trainer/cli/main.ts', import.meta.url));
const tsx = fileURLToPath(import.meta.resolve('tsx'));

describe('Ctrl+C', function () {
  this.timeout(120_000); // starts processes, on a machine that may be busy

  it('cancels the run and says so, also when it arrives several times at once, as under npm', async function () {
    if (process.platform === 'win32') this.skip(); // has no signals to send
    const workspace = makeWorkspace({ 'agent.py': 'import time\n\ndef hang(task, llm):\n    time.sleep(3600)\n', 'tasks.jsonl': letterTasks(1) });
    const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end('{"object": "list", "data": [{"id": "m"}]}')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const policy = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
      const child = spawn(process.execPath, ['--import', tsx, cli, 'dev', 'agent.py:hang', '--data', 'tasks.jsonl', '--policy', policy], { cwd: workspace.folder, stdio: ['ignore', 'ignore', 'pipe'] });
      let stderr = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        if (!stderr.includes('Running') && (stderr + text).includes('Running')) for (let ms = 0; ms < 8; ms += 2) setTimeout(() => child.kill('SIGINT'), ms);
        stderr += text;
      });
      const [code] = await once(child, 'close') as [number | null];
      assert.equal(code, 130, stderr);
      assert.match(stderr, /^agent-trainer: Run ru-\w+ was cancelled\.$/m);
    } finally {
      server.close();
      workspace.remove();
    }
  });
});
