/** An agent that picks a meeting room: it asks the model, which looks the rooms up with a tool, and scores the room it names. */
import { operation, rollout, type LLM, type ReasonedReward } from 'agent-trainer/runtime';
import { readBuilding, score, type RoomTask } from './rooms.ts';

const MAX_TURNS = 4;
const building = readBuilding(new URL('rooms.json', import.meta.url));

const tools = [{
  type: 'function',
  function: {
    name: 'get_rooms_and_availability',
    description: 'All rooms with floor, seats and features, and when each is booked on a date.',
    parameters: { type: 'object', properties: { date: { type: 'string', description: 'YYYY-MM-DD' } }, required: ['date'] },
  },
}];

interface ToolCall { id: string; function: { name: string; arguments: string } }
type Message = { role: 'user' | 'tool'; content: string; tool_call_id?: string } | { role: 'assistant'; content: string | null; tool_calls?: ToolCall[] };

export const roomSelector = rollout(async function roomSelector(task: RoomTask, { llm }: { llm: LLM }): Promise<ReasonedReward> {
  const needs = task.needs.join(', ') || 'nothing';
  const prompt = `Find a meeting room on ${task.date} at ${task.time} for ${task.duration_min} minutes and ${task.attendees} people. Needs: ${needs}.`;
  const messages: Message[] = [{ role: 'user', content: prompt }];
  let answer = '';
  for (let turn = 0; turn < MAX_TURNS; turn++) {
    const { content, tool_calls: calls = [] } = await ask(llm, messages);
    answer = content ?? '';
    if (calls.length === 0) break;
    messages.push({ role: 'assistant', content, tool_calls: calls });
    for (const call of calls) messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(getRooms(call.function.arguments)) });
  }
  return score(building, task, answer);
});

/** The tool. What the model gets wrong is told to the model. */
const getRooms = operation('get_rooms_and_availability', (text: string) => {
  const date = dateIn(text);
  const bookings = date === null ? undefined : building.bookings[date];
  if (!bookings) return { error: `There are no bookings for ${text}. Give {"date": "YYYY-MM-DD"}.` };
  return building.rooms.map((room) => ({ ...room, booked: bookings[room.name] ?? [] }));
});

function dateIn(text: string): string | null {
  try {
    return String((JSON.parse(text) as { date?: unknown }).date);
  } catch {
    return null;
  }
}

async function ask(llm: LLM, messages: Message[]): Promise<{ content: string | null; tool_calls?: ToolCall[] }> {
  const response = await fetch(`${llm.endpoint}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'authorization': `Bearer ${llm.api_key}` },
    body: JSON.stringify({ model: llm.model, messages, tools, ...llm.sampling_parameters }),
  });
  if (!response.ok) throw new Error(`The model answered with status ${response.status}: ${await response.text()}`);
  const completion = await response.json() as { choices: [{ message: { content: string | null; tool_calls?: ToolCall[] } }] };
  return completion.choices[0].message;
}
