import assert from 'node:assert/strict';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import type { BuildOptions } from 'esbuild';
import { commands, views } from '../../../src/ids.ts';

const root = join(import.meta.dirname, '..', '..', '..');

interface WebExtension { activate: (context: { subscriptions: unknown[] }) => void }

/** The web entry's bundle, as the build makes it, in a realm that has nothing but the language and what VS Code offers. */
async function webExtension(vscode: object): Promise<WebExtension> {
  const { webBuild } = await import(join(root, 'scripts', 'build.mjs')) as { webBuild: BuildOptions };
  const { outputFiles } = await build({ ...webBuild, absWorkingDir: root, write: false, sourcemap: false });
  const required: string[] = [];
  const module = { exports: {} };
  const require = (name: string): object => {
    required.push(name);
    return vscode;
  };
  runInContext(outputFiles?.[0]?.text ?? assert.fail('no bundle'), createContext({ module, exports: module.exports, require }));
  assert.deepEqual(required, ['vscode']);
  return module.exports as WebExtension;
}

describe('the extension in a browser without a server', () => {
  it('has every command, and each says why it does nothing; before that it is silent', async () => {
    const registered = new Map<string, () => void>();
    const providers: string[] = [];
    const contexts: unknown[][] = [];
    const messages: string[] = [];
    const { activate } = await webExtension({
      l10n: { t: (message: string) => message },
      commands: { registerCommand: (id: string, run: () => void) => { registered.set(id, run); }, executeCommand: (...given: unknown[]) => { contexts.push(given); } },
      window: { showInformationMessage: (message: string) => { messages.push(message); }, registerTreeDataProvider: (id: string) => { providers.push(id); } },
    });
    const subscriptions: unknown[] = [];
    activate({ subscriptions });
    assert.deepEqual([...registered.keys()].sort(), Object.values(commands).sort());
    assert.deepEqual(providers.sort(), Object.values(views).sort());
    assert.deepEqual(contexts, [['setContext', 'agentTrainer.unsupported', true]]);
    assert.deepEqual(messages, []);
    for (const run of registered.values()) run();
    assert.equal(messages.length, registered.size);
    for (const message of messages) assert.match(message, /no machine to run them on\. Open the folder in VS Code on the desktop/);
  });
});
