/** Agents of the world in bench/fixtures/prompt-world.ts: the prompt decides how well the model does, and the model says how it went. */
export const pythonAgent = `
import json
import urllib.request
from agent_trainer import rollout

PROMPT = """Book a room for: {request} Explain your reasons at length."""


@rollout
def book(task, llm):
    messages = [{"role": "system", "content": PROMPT.format(request="the task")}, {"role": "user", "content": json.dumps(task)}]
    body = json.dumps({"model": llm.model, "messages": messages}).encode()
    request = urllib.request.Request(llm.endpoint + "/chat/completions", body, {"content-type": "application/json", "authorization": "Bearer " + llm.api_key})
    with urllib.request.urlopen(request, timeout=60) as response:
        said = json.loads(json.load(response)["choices"][0]["message"]["content"])
    return said["reward"], said["reason"]
`;

export const nodeAgent = `
import { rollout } from 'agent-trainer/runtime';

const prompt = (request: string) => \`Book a room for: \${request} Explain your reasons at length.\`;

export const book = rollout(async (task: { id: string; kind: number }, { llm }) => {
  const response = await fetch(llm.endpoint + '/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer ' + llm.api_key },
    body: JSON.stringify({ model: llm.model, messages: [{ role: 'system', content: prompt('the task') }, { role: 'user', content: JSON.stringify(task) }] }),
  });
  if (!response.ok) throw new Error(await response.text());
  const said = JSON.parse(((await response.json()) as any).choices[0].message.content) as { reward: number; reason: string };
  return said;
});
`;
