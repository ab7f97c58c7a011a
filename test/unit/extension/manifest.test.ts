import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commands, panels, settings } from '../../../src/ids.ts';

const root = join(import.meta.dirname, '..', '..', '..');
interface Manifest {
  activationEvents: string[];
  capabilities: { untrustedWorkspaces: { restrictedConfigurations: string[] } };
  contributes: { commands: { command: string }[]; configuration: { properties: Record<string, unknown> } };
}
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const texts = JSON.parse(readFileSync(join(root, 'package.nls.json'), 'utf8')) as Record<string, string>;

describe('the manifest', () => {
  it('contributes exactly the commands of the code', () => {
    assert.deepEqual(manifest.contributes.commands.map(({ command }) => command).sort(), Object.values(commands).sort());
  });

  it('contributes exactly the settings of the code, and restricts those that name a program', () => {
    assert.deepEqual(Object.keys(manifest.contributes.configuration.properties).sort(), Object.values(settings).sort());
    assert.deepEqual(manifest.capabilities.untrustedWorkspaces.restrictedConfigurations, [settings.nodePath]);
  });

  it('wakes the extension for the panels that VS Code restores', () => {
    for (const panel of Object.values(panels)) assert.ok(manifest.activationEvents.includes(`onWebviewPanel:${panel}`), panel);
  });

  it('has every text it refers to, and no other', () => {
    const used = [...JSON.stringify(manifest).matchAll(/"%([\w.]+)%"/g)].map((match) => match[1] ?? '');
    assert.deepEqual([...new Set(used)].sort(), Object.keys(texts).sort());
  });
});
