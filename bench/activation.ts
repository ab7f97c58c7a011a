/**
 * What the extension costs a window of a real VS Code, as VS Code itself tells it (Developer: Startup Performance): the packed
 * extension in code-server, a fresh server, browser and extension host for each sample, on a folder with a Python and a TypeScript agent.
 *
 *   npx tsx bench/activation.ts [--json] [--windows N]
 *
 * load_ms: reading and evaluating our code. activate_ms: the call of activate. finish_ms: until what it returned has settled, which includes
 * what the extension host does meanwhile. own_ms: load and activate, and finish too. All are medians, own_ms that of the sums.
 */
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { hostFolder } from '../test/vscode/host-folder.ts';
import { packedExtension, realVSCode } from '../test/vscode/real-vscode.ts';
import { VSCodeWindow } from '../test/vscode/window.ts';

interface Times { load_ms: number; activate_ms: number; finish_ms: number }

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false }, windows: { type: 'string', default: '5' } } });

const code = await realVSCode();
if ('missing' in code) throw new Error(code.missing);
const vsix = packedExtension();
const samples: Times[] = [];
for (let i = 0; i < Number(flags.windows); i++) {
  const folder = hostFolder();
  const window = await VSCodeWindow.open(code, vsix, folder);
  try {
    samples.push(await activationTimes(window));
  } finally {
    await window.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const own = samples.map(({ load_ms, activate_ms, finish_ms }) => load_ms + activate_ms + finish_ms);
const result = {
  own_ms: median(own), load_ms: median(samples.map((each) => each.load_ms)), activate_ms: median(samples.map((each) => each.activate_ms)), finish_ms: median(samples.map((each) => each.finish_ms)),
  own_ms_all: own, windows: samples.length,
};
if (flags.json) console.log(JSON.stringify(result));
else console.log(`${result.own_ms} ms: load ${result.load_ms}, activate ${result.activate_ms}, finish ${result.finish_ms} (medians of ${result.windows} windows; ${own.join(', ')})`);

/** Our row of VS Code's table of activated extensions: Extension | Eager | Load Code | Call Activate | Finish Activate | Event | By. */
async function activationTimes(window: VSCodeWindow): Promise<Times> {
  const { page } = window;
  await page.setViewportSize({ width: 1600, height: 6000 }); // the editor renders only the lines in sight
  const row = page.locator('.view-line').filter({ hasText: /^\|\sagent-trainer\.agent-trainer\s/ }).first();
  for (let attempt = 1; ; attempt++) {
    try {
      await window.command('Developer: Startup Performance');
      const [, , , load, activate, finish] = (await row.textContent({ timeout: 5000 }) ?? '').split('|').map((cell) => Number.parseInt(cell.trim(), 10));
      if (load === undefined || activate === undefined || finish === undefined || Number.isNaN(load + activate + finish)) throw new Error('VS Code writes its table of activated extensions in another form than this benchmark reads.');
      return { load_ms: load, activate_ms: activate, finish_ms: finish };
    } catch (error) { // not activated yet, or the window was not ready for a command
      if (attempt === 10) throw error;
      await page.keyboard.press('Escape');
      await page.keyboard.press('Control+F4');
    }
  }
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
