import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { commands, panels, settings, tools, views } from '../../../src/ids.ts';
import { contextOf } from '../../../src/testing/rollout-context.ts';
import { controllerId } from '../../../src/testing/evaluation-tests.ts';
import { taskType } from '../../../src/tasks/register-tasks.ts';
import { DryRunInput } from '../../../src/tools/dry-run.ts';

const root = join(import.meta.dirname, '..', '..', '..');
interface Manifest {
  activationEvents: string[];
  capabilities: { untrustedWorkspaces: { restrictedConfigurations: string[] } };
  contributes: { commands: { command: string }[]; configuration: { properties: Record<string, unknown> };
    languageModelTools: { name: string; inputSchema: { properties: Record<string, { maximum?: number; default?: number }> } }[];
    taskDefinitions: { type: string }[];
    walkthroughs: { steps: { media: { svg: string }; completionEvents: string[]; description: string }[] }[];
    menus: Record<string, { command: string; when: string }[]>;
  };
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

  it('contributes exactly the tools of the code, and asks for no more tasks than a dry run takes', () => {
    const { languageModelTools } = manifest.contributes;
    assert.deepEqual(languageModelTools.map(({ name }) => name).sort(), Object.values(tools).sort());
    const { maximum = 0, default: usual } = languageModelTools.find(({ name }) => name === tools.dryRun)?.inputSchema.properties['tasks'] ?? {};
    assert.equal(DryRunInput.parse({ agent: 'a' }).tasks, usual);
    assert.deepEqual([maximum, maximum + 1].map((tasks) => DryRunInput.safeParse({ agent: 'a', tasks }).success), [true, false]);
  });

  it('names the test controller, its messages and the type of tasks as the code does', () => {
    const { menus, taskDefinitions } = manifest.contributes;
    const whens = (menu: string): string => menus[menu]?.find(({ command }) => command === commands.openTaskTrace)?.when ?? '';
    assert.equal(whens('testing/item/context'), `controllerId == ${controllerId}`);
    for (const menu of ['testing/message/content', 'testing/message/context']) {
      const [, pattern = 'none'] = /^testMessage =~ \/(.*)\/$/.exec(whens(menu)) ?? [];
      assert.match(contextOf('ru-1', 'ro-1'), new RegExp(pattern));
    }
    assert.deepEqual(taskDefinitions.map(({ type }) => type), [taskType]);
  });

  it('has a walkthrough whose pictures and commands exist', () => {
    for (const { media, completionEvents, description } of manifest.contributes.walkthroughs.flatMap(({ steps }) => steps)) {
      assert.ok(existsSync(join(root, media.svg)), media.svg);
      const linked = [...(texts[description.slice(1, -1)] ?? '').matchAll(/\(command:([\w.]+)\)/g)].map((match) => match[1] ?? '');
      assert.equal(linked.length, 1, description);
      for (const id of [...linked, ...completionEvents.map((event) => event.replace(/^on\w+:/, ''))]) {
        assert.ok([...Object.values<string>(commands), views.agents, `${views.agents}.focus`].includes(id), id);
      }
    }
  });

  it('wakes the extension for the panels that VS Code restores', () => {
    for (const panel of Object.values(panels)) assert.ok(manifest.activationEvents.includes(`onWebviewPanel:${panel}`), panel);
  });

  it('has every text it refers to, and no other', () => {
    const used = [...JSON.stringify(manifest).matchAll(/"%([\w.]+)%"/g)].map((match) => match[1] ?? '');
    assert.deepEqual([...new Set(used)].sort(), Object.keys(texts).sort());
  });
});
