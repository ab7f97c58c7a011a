import assert from 'node:assert/strict';
import { check, marked, python, script } from './support.ts';

describe('diagnostic: a service whose model cannot be reached', () => {
  const cases: [string, string, string, string[]][] = [
    ['Letta', 'a.py', `from letta_client import Letta\n${python('client = Letta(token="t")\nclient.agents.messages.create(agent_id="a", messages=[])\nreturn 1.0')}`, ['Letta']],
    ['the Assistants API', 'a.py', python('client = OpenAI()\nthread = client.beta.threads.create()\nreturn 1.0'), ['client.beta.threads.create']],
    ['Anthropic', 'a.py', `import anthropic\nclient = anthropic.Anthropic()\n${python('client.messages.create(model="claude", messages=[])\nreturn 1.0')}`, ['client.messages.create']],
    ['Azure OpenAI', 'a.py', `from openai import AzureOpenAI\n${python('AzureOpenAI(azure_endpoint="x").chat.completions.create(model="m", messages=[])\nreturn 1.0')}`, ['AzureOpenAI(azure_endpoint="x").chat.completions.create']],
    ['Gemini, in TypeScript', 'a.ts', `import { GoogleGenAI } from '@google/genai';\n${script('const ai = new GoogleGenAI({});\nawait ai.models.generateContent({ contents: [] });\nreturn 1;')}`, ['ai.models.generateContent']],
    ['Anthropic, in TypeScript', 'a.ts', `import { anthropic } from '@ai-sdk/anthropic';\nimport { generateText } from 'ai';\n${script("await generateText({ model: anthropic('claude'), prompt: '' });\nreturn 1;")}`, ["anthropic"]],
  ];
  for (const [what, file, text, expected] of cases) {
    it(`explains what is possible with ${what}`, async () => {
      const found = (await check(file, text)).findings.filter(({ rule }) => rule === 'unreachable-model');
      assert.equal(found.length, 1);
      assert.deepEqual([found[0]?.severity, /Prompts of this agent can be tuned; training the model .* needs an OpenAI-compatible endpoint/.test(found[0]?.message ?? '')], ['information', true]);
      const [mark = ''] = await marked('unreachable-model', file, text);
      assert.ok(expected.includes(mark) || mark === 'new', mark);
    });
  }

  it('says nothing of an OpenAI-compatible client', async () => {
    assert.deepEqual(await marked('unreachable-model', 'a.py', python('OpenAI(base_url=llm.endpoint).chat.completions.create(model=llm.model, messages=[])\nreturn 1.0')), []);
  });
});
