import assert from 'node:assert/strict';
import type { Run } from '../../../trainer/protocol/run.ts';
import { commands } from '../../../src/ids.ts';
import { tellRunEnded } from '../../../src/runs/run-ended.ts';
import type { Services } from '../../../src/services.ts';
import type { Workspace } from '../../../src/workspace.ts';
import { aRun } from '../../fixtures/recorded-runs.ts';

/** The buttons of the message about a run that failed, and the commands run by the one that is called `chosen`. */
async function told(run: Partial<Run>, chosen: string): Promise<{ buttons: string[]; ran: string[] }> {
  const ran: string[] = [];
  let buttons: string[] = [];
  const vscode = {
    l10n: { t: (text: string) => text },
    window: { showErrorMessage: (_message: string, ...items: string[]) => { buttons = items; return Promise.resolve(chosen); } },
    commands: { executeCommand: (id: string) => { ran.push(id); return Promise.resolve(); } },
  };
  await tellRunEnded({ vscode, log: { warn: () => undefined } } as unknown as Services, {} as Workspace, aRun('train', { status: 'failed', ...run }));
  return { buttons, ran };
}

describe('the message about a run that failed', () => {
  it('has a button for the token when the hub does not give out the model', async () => {
    const token = 'Set Hugging Face Token…';
    assert.deepEqual(await told({ error: 'no', error_code: 'hub_access' }, token), { buttons: [token, 'Open'], ran: [commands.setHubToken] });
    assert.deepEqual(await told({ error: 'no', error_code: 'upstream' }, ''), { buttons: ['Open'], ran: [] });
  });
});
