import assert from 'node:assert/strict';
import { fixed, marked, python, script } from './support.ts';

describe('diagnostic: a hard-coded base URL, key or model', () => {
  it('of a client made in the agent is found and pointed at the run', async () => {
    const text = python('client = OpenAI(base_url="https://api.openai.com/v1", api_key="sk-1")\nreturn len(client.chat.completions.create(model="gpt-4o", messages=[]).choices)');
    assert.deepEqual(await marked('fixed-endpoint', 'a.py', text), ['"https://api.openai.com/v1"', '"gpt-4o"']);
    assert.equal(await fixed('fixed-endpoint', 'a.py', text), python('client = OpenAI(base_url=llm.endpoint, api_key=llm.api_key)\nreturn len(client.chat.completions.create(model=llm.model, messages=[]).choices)'));
  });

  it('of a client of the module is found where the agent uses it; an agent without llm gets it', async () => {
    const text = `KEY = "sk-1"\n${python('return len(client.chat.completions.create(model=MODEL, messages=[]).choices)', 'task').replace('\n@rollout', '\nclient = OpenAI(api_key=KEY)\n\n@rollout')}`;
    assert.deepEqual(await marked('fixed-endpoint', 'a.py', text), ['client']);
    assert.match(await fixed('fixed-endpoint', 'a.py', text), /def agent\(task, llm\):\n {4}return len\(client\.with_options\(base_url=llm\.endpoint, api_key=llm\.api_key\)\.chat\.completions\.create\(model=llm\.model/);
  });

  it('of a raw request is found and pointed at the run', async () => {
    const text = python('return requests.post("https://api.openai.com/v1/chat/completions", json={"model": "m", "messages": []}).json()["reward"]');
    assert.deepEqual(await marked('fixed-endpoint', 'a.py', text), ['"https://api.openai.com/v1/chat/completions"']);
    assert.match(await fixed('fixed-endpoint', 'a.py', text), /post\(f"\{llm\.endpoint\}\/chat\/completions", json=\{"model": llm\.model/);
  });

  it('is found and mended in TypeScript, by the name the model has there', async () => {
    const text = script("const client = new OpenAI({ apiKey: 'sk-1' });\nreturn (await client.chat.completions.create({ model: context.llm.model, messages: [] })).choices.length;", 'task: Task, context: AgentContext');
    assert.deepEqual(await marked('fixed-endpoint', 'a.ts', text), ["'sk-1'"]);
    assert.match(await fixed('fixed-endpoint', 'a.ts', text), /new OpenAI\(\{ apiKey: context\.llm\.api_key, baseURL: context\.llm\.endpoint \}\)/);
  });

  it('a client that is told by the environment or pointed at the run is left alone', async () => {
    assert.deepEqual(await marked('fixed-endpoint', 'a.py', python('client = OpenAI(base_url=os.environ["URL"], api_key=key())\nreturn len(client.chat.completions.create(model=pick(), messages=[]).choices)')), []);
    assert.deepEqual(await marked('fixed-endpoint', 'a.py', python('client = OpenAI(base_url=llm.get_base_url(), api_key=llm.api_key)\nreturn len(client.chat.completions.create(model=llm.model, messages=[]).choices)')), []);
    assert.deepEqual(await marked('fixed-endpoint', 'a.py', python('return requests.post(f"{llm.endpoint}/chat/completions", json={}).json()["x"]')), []);
  });
});
