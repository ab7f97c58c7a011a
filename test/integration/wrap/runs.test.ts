import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { planWrap, wrapped } from '../../../src/wrap/plan.ts';
import { attr } from '../../../trainer/protocol/span.ts';
import { bench, workspace } from '../runner/harness.ts';
import type { Bench } from '../runner/harness.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const l10n = { t: (message: string): string => message };

/** Ordinary programs, as they are before anyone thinks of training. Their addresses and keys lead nowhere. */
const programs: [string, string, string, string][] = [
  ['a Python function that sends a request itself', 'answer.py', 'answer', `"""Answers."""
from __future__ import annotations

import json
import urllib.request

URL = "http://127.0.0.1:9/v1/chat/completions"


def answer(task: dict, retries: int = 2) -> float:
    """One question."""
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": task["question"]}]}
    request = urllib.request.Request(URL, json.dumps(body).encode(), {"Content-Type": "application/json", "Authorization": "Bearer sk-nothing"})
    with urllib.request.urlopen(request) as reply:
        return float(len(json.load(reply)["choices"]))
`],
  ['a TypeScript function with the OpenAI SDK and a client of the module', 'answer.ts', 'answer', `import OpenAI from 'openai'

const client = new OpenAI({ apiKey: 'sk-nothing', baseURL: 'http://127.0.0.1:9/v1' })

/** One question. */
async function answer(task: { question: string }): Promise<number> {
  const reply = await client.chat.completions.create({
    model: 'gpt-4o', // the large one
    messages: [{ role: 'user', content: task.question }],
  })
  return reply.choices.length
}
`],
  ['a TypeScript method with a client of its own', 'solver.ts', 'Solver.solve', `import { OpenAI } from "openai";

export class Solver {
  async solve(task: { question: string }) {
    const client = new OpenAI({ apiKey: "sk-nothing" });
    const { choices } = await client.chat.completions.create({ model: "gpt-4o", messages: [{ role: "user", content: task.question }] });
    return choices.length;
  }
}
`],
  ['a JavaScript arrow function that fetches', 'answer.mjs', 'answer', `export const answer = async task => {
  const reply = await fetch('http://127.0.0.1:9/v1/chat/completions', {
    method: 'POST', headers: { 'content-type': 'application/json', Authorization: 'Bearer sk-nothing' },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: task.question }] }),
  });
  return (await reply.json()).choices.length;
};
`],
  ['a CommonJS function that nothing exports yet', 'answer.js', 'answer', `const OpenAI = require('openai');
const client = new OpenAI({ apiKey: 'sk-nothing', baseURL: 'http://127.0.0.1:9/v1' });

async function answer(task) {
  const reply = await client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: task.question }] });
  return reply.choices.length;
}

if (require.main === module) answer({ question: 'Hello' });
`],
  ['a CommonJS function written into the exports', 'answer.cjs', 'answer', `const { request } = require('node:http');

module.exports = {
  helper: request,
  answer: async (task) => {
    const reply = await fetch('http://127.0.0.1:9/v1/chat/completions', {
      method: 'POST', headers: { 'content-type': 'application/json', Authorization: 'Bearer sk-nothing' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: task.question }] }),
    });
    return (await reply.json()).choices.length;
  },
};
`],
  ['a CommonJS module that is one function', 'solve.cjs', 'default', `module.exports = async (task) => {
  const reply = await fetch('http://127.0.0.1:9/v1/chat/completions', {
    method: 'POST', headers: { 'content-type': 'application/json', Authorization: 'Bearer sk-nothing' },
    body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: task.question }] }),
  });
  return (await reply.json()).choices.length;
};
`],
];

describe('a program made trainable runs', function () {
  this.timeout(60_000);
  let desk: Bench;
  beforeEach(async () => { desk = await bench(); });
  afterEach(() => desk.close());

  for (const [what, file, name, text] of programs) {
    it(`${what}: its call reaches the model of the run and is recorded`, async () => {
      const plan = planWrap(l10n, file, text, { line: 0, name });
      assert.equal(plan.kind, 'plan');
      const folder = workspace({ [file]: plan.kind === 'plan' ? wrapped(text, plan) : '' });
      mkdirSync(join(folder, 'node_modules'));
      symlinkSync(join(root, 'node_modules', 'openai'), join(folder, 'node_modules', 'openai'));
      await desk.runner(`${file}:${plan.kind === 'plan' ? plan.agent : ''}`, {}, { workspace: folder });
      const rollouts = await desk.roll([{ question: 'Hello' }, { question: 'Hello again' }]);
      for (const rollout of rollouts) {
        assert.equal(rollout.attempt?.outcome, 'scored', rollout.attempt?.error ?? '');
        assert.equal(rollout.attempt.reward, 1);
        assert.equal(desk.store.listSpans(rollout.rollout_id).filter((span) => span.attributes[attr.operationName] === 'chat').length, 1);
      }
    });
  }
});
