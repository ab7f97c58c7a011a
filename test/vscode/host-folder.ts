import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { root } from './real-vscode.ts';

/** Bundles the in-host suite and returns its entry. */
export async function bundleHostSuite(): Promise<string> {
  const outdir = join(root, 'test', 'out', 'host');
  mkdirSync(outdir, { recursive: true });
  writeFileSync(join(outdir, 'package.json'), JSON.stringify({ type: 'commonjs' }));
  const from = (name: string): string => join(root, 'test', 'vscode', 'host', `${name}.ts`);
  await build({ entryPoints: [from('index'), from('suite')], outdir, outExtension: { '.js': '.cjs' }, bundle: true, platform: 'node', format: 'cjs', external: ['vscode', 'mocha'], logLevel: 'warning' });
  return join(outdir, 'index.cjs');
}

/** A small workspace: an agent in each language, three tasks and a configuration. */
export function hostFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'agent-trainer-host-'));
  const files = {
    'greeter.py': `import json
import urllib.request
from agent_trainer import rollout


@rollout
def greet(task, llm):
    body = json.dumps({"model": llm.model, "messages": [{"role": "user", "content": task["name"]}]}).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {llm.api_key}"}
    with urllib.request.urlopen(urllib.request.Request(f"{llm.endpoint}/chat/completions", body, headers)) as answer:
        return float("Hello" in json.load(answer)["choices"][0]["message"]["content"])
`,
    'greeter.ts': "import { rollout } from 'agent-trainer/runtime';\n\nexport const greet = rollout(async () => 1);\n",
    'draft.py': '',
    'tasks.jsonl': ['Ada', 'Grace', 'Edsger'].map((name) => `${JSON.stringify({ name })}\n`).join(''),
    'agent-trainer.json': JSON.stringify({ agent: 'greeter.py:greet', data: { train: 'tasks.jsonl' }, model: { path: 'model' } }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
