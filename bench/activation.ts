/**
 * What the extension costs a window of a real VS Code, as VS Code itself measures it (Developer: Startup Performance): the packed
 * extension in code-server, a fresh server, browser and extension host for each sample, on a folder with a Python and a TypeScript agent.
 *
 *   npx tsx bench/activation.ts [--json] [--windows N]
 *
 * load_ms: reading and evaluating our code, between the marks VS Code sets around it. activate_ms: the call of activate. finish_ms: until
 * what it returned has settled. own_ms: their sum. All are medians. reported_ms: what VS Code shows as our activation time, in which
 * extensions that load at the same moment count as well.
 */
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { hostFolder } from '../test/vscode/host-folder.ts';
import { packedExtension, realVSCode } from '../test/vscode/real-vscode.ts';
import { VSCodeWindow } from '../test/vscode/window.ts';

interface Times { load_ms: number; activate_ms: number; finish_ms: number; reported_ms: number }

const id = 'agent-trainer.agent-trainer';
const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false }, windows: { type: 'string', default: '5' } } });

const code = await realVSCode();
if ('missing' in code) throw new Error(code.missing);
const vsix = packedExtension();
const samples: Times[] = [];
for (let i = 0; i < Number(flags.windows); i++) {
  const folder = hostFolder();
  const window = await VSCodeWindow.open(code, vsix, folder);
  try {
    samples.push(timesIn(await startupReport(window)));
  } finally {
    await window.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const own = samples.map(({ load_ms, activate_ms, finish_ms }) => load_ms + activate_ms + finish_ms);
const of = (name: keyof Times): number => median(samples.map((sample) => sample[name]));
const result = { own_ms: median(own), load_ms: of('load_ms'), activate_ms: of('activate_ms'), finish_ms: of('finish_ms'), reported_ms: of('reported_ms'), own_ms_all: own, windows: samples.length };
if (flags.json) console.log(JSON.stringify(result));
else console.log(`${result.own_ms} ms: load ${result.load_ms}, activate ${result.activate_ms}, finish ${result.finish_ms} (medians of ${result.windows} windows; ${own.join(', ')}); VS Code shows ${result.reported_ms} ms`);

/** The text of Developer: Startup Performance. The marks of the extension host arrive there when all extensions of the start are active. */
async function startupReport(window: VSCodeWindow): Promise<string> {
  const { page } = window;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  for (const deadline = Date.now() + 180_000; ;) {
    try {
      await window.command('Developer: Startup Performance');
      await page.locator('.tab.active', { hasText: 'Startup Performance' }).waitFor({ timeout: 10_000 });
      await page.locator('.editor-instance .view-line', { hasText: 'System Info' }).first().click({ timeout: 10_000 });
      await page.keyboard.press('ControlOrMeta+A');
      await page.keyboard.press('ControlOrMeta+C');
      const text = await page.evaluate<string>('navigator.clipboard.readText()');
      if (text.includes(`didActivateExtension/${id}`)) return text;
      if (Date.now() > deadline) throw new Error('VS Code does not report the activation of the extension.');
      await window.command('View: Close All Editors');
    } catch (error) { // the window was not ready for a command
      if (Date.now() > deadline) throw error;
      await page.keyboard.press('Escape');
    }
  }
}

function timesIn(report: string): Times {
  const mark = (name: string): number => Number(new RegExp(`code/extHost/${name}/${id}\\s+(\\d+)`).exec(report)?.[1]);
  const row = report.split('\n').find((line) => line.startsWith(`| ${id}`)) ?? ''; // Extension | Eager | Load Code | Call Activate | Finish Activate | Event | By
  const [load = NaN, activate_ms = NaN, finish_ms = NaN] = row.split('|').slice(3, 6).map(Number);
  const times = { load_ms: mark('didLoadExtensionCode') - mark('willLoadExtensionCode'), activate_ms, finish_ms, reported_ms: load + activate_ms };
  if (Object.values(times).some(Number.isNaN)) throw new Error('VS Code writes its report in another form than this benchmark reads.');
  return times;
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
