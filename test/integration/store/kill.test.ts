import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Driver } from '../../../trainer/store/database.ts';
import { openStore, type Store } from '../../../trainer/store/store.ts';
import { drivers } from '../../unit/store/support.ts';
import type { Acknowledged } from './writer.ts';

const writer = path.join(import.meta.dirname, 'writer.ts');

/** Lets the writer acknowledge `count` writes, kills it without warning, and returns everything it had acknowledged. */
async function writeUntilKilled(file: string, driver: Driver, count: number): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, ['--import', 'tsx', writer, file, driver], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const reader = createInterface(child.stdout);
  reader.on('line', (line) => {
    lines.push(line);
    if (lines.length === count) child.kill('SIGKILL');
  });
  const [[, signal]] = await Promise.all([once(child, 'exit'), once(reader, 'close')]) as [[unknown, string | null], unknown];
  assert.equal(signal, 'SIGKILL');
  // The kill may cut the last line: that write was not acknowledged.
  return lines.flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as Acknowledged] : []));
}

function isThere(store: Store, write: Acknowledged): boolean {
  switch (write.wrote) {
    case 'rollout': return store.getRollout(write.rollout_id) !== undefined;
    case 'reward': return store.getRollout(write.rollout_id)?.attempt?.outcome === 'scored';
    case 'log': return store.getLogs(write.rollout_id).stdout === write.text;
    case 'resources': return store.getResources(write.resources_id) !== undefined;
    case 'spans': {
      const ids = new Set(store.listSpans(write.rollout_id).map(({ span_id }) => span_id));
      return write.span_ids.every((id) => ids.has(id));
    }
  }
}

for (const driver of drivers) {
  describe(`store: kill -9 (${driver})`, function () {
    this.timeout(60_000);
    const folder = mkdtempSync(path.join(tmpdir(), 'store-kill-'));
    after(() => rmSync(folder, { recursive: true }));

    it('keeps every acknowledged write, kill after kill', async () => {
      const file = path.join(folder, 'trainer.db');
      const acknowledged: Acknowledged[] = [];
      for (const count of [5, 122, 403]) {
        acknowledged.push(...await writeUntilKilled(file, driver, count));
        const store = openStore(file, { driver });
        const missing = acknowledged.filter((write) => !isThere(store, write));
        store.cancelRollouts({ rollout_ids: store.listRollouts({ status_in: ['queuing', 'preparing', 'running'] }).map(({ rollout_id }) => rollout_id) });
        store.close();
        assert.deepEqual(missing, []);
      }
      assert.ok(acknowledged.length >= 530);
    });
  });
}
