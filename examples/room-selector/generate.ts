/**
 * Writes rooms.json and data/tasks.jsonl. Seeded: the files are the same, byte for byte, on every machine.
 * Run: npx tsx examples/room-selector/generate.ts [folder]
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Random } from '../sql-agent/generator/random.ts';
import { faultsOf, type Bookings, type Building, type Fault, type Room, type RoomTask } from './rooms.ts';

const SEED = 7;
const TASKS_OF_A_KIND = 30;
const OPENS = 8 * 60;
const CLOSES = 18 * 60;
const features = ['whiteboard', 'screen', 'projector', 'video conference', 'wheelchair access'] as const;

const room = (name: string, floor: number, seats: number, ...has: (typeof features)[number][]): Room => ({ name, floor, seats, features: has });
/** No two of equal size are on one floor: of the rooms that fit, one is always the best. */
const rooms: Room[] = [
  room('Maple', 4, 12, 'projector', 'whiteboard'),
  room('Birch', 2, 4, 'screen'),
  room('Oak', 1, 20, 'projector', 'video conference', 'whiteboard', 'wheelchair access'),
  room('Cedar', 3, 6, 'whiteboard', 'screen'),
  room('Fir', 4, 8, 'screen', 'video conference'),
  room('Hazel', 1, 10, 'projector', 'whiteboard', 'wheelchair access'),
  room('Alder', 1, 4, 'whiteboard', 'wheelchair access'),
  room('Larch', 2, 12, 'projector', 'video conference', 'wheelchair access'),
  room('Juniper', 3, 10, 'video conference', 'whiteboard'),
  room('Dogwood', 1, 6, 'screen', 'video conference', 'wheelchair access'),
  room('Elm', 2, 8, 'whiteboard', 'projector'),
  room('Willow', 3, 2, 'screen'),
];
const dates = ['2026-03-02', '2026-03-03', '2026-03-04', '2026-03-05', '2026-03-06', '2026-03-09', '2026-03-10', '2026-03-11', '2026-03-12', '2026-03-13'];

/** What decides a task: without this rule another answer would come out. `none`: no room fits. */
const kinds = ['seats', 'features', 'free', 'gap', 'order', 'none'] as const;
type Rule = Fault['rule'] | 'order';

/** Everything the script writes, by path relative to the folder. */
export function generateFiles(): Map<string, string> {
  const random = new Random(SEED);
  const building: Building = { rooms, bookings: Object.fromEntries(dates.map((date) => [date, bookingsOfADay(random)])) };
  const tasks = makeTasks(random, building);
  return new Map([['rooms.json', toText(building)], ['data/tasks.jsonl', tasks.map((task) => `${JSON.stringify(task)}\n`).join('')]]);
}

/** JSON with a line for each room and each date. */
function toText({ rooms, bookings }: Building): string {
  const days = Object.entries(bookings).map(([date, day]) => `    ${JSON.stringify(date)}: ${JSON.stringify(day)}`);
  return `{\n  "rooms": [\n${rooms.map((each) => `    ${JSON.stringify(each)}`).join(',\n')}\n  ],\n  "bookings": {\n${days.join(',\n')}\n  }\n}\n`;
}

/** The room that a careful reader of the rules chooses, or one who forgets a rule. */
export function bestRoom({ rooms, bookings }: Building, task: RoomTask, forgotten: ReadonlySet<Rule> = new Set()): string {
  const fitting = rooms.filter((each) => faultsOf(each, task, bookings).every(({ rule }) => forgotten.has(rule)));
  if (!forgotten.has('order')) fitting.sort((a, b) => a.seats - b.seats || a.floor - b.floor);
  return fitting[0]?.name ?? 'none';
}

function bookingsOfADay(random: Random): Bookings[string] {
  return Object.fromEntries(rooms.map(({ name }) => {
    const booked: string[] = [];
    for (let from = OPENS + 15 * random.int(0, 8); from < CLOSES - 30;) {
      const to = Math.min(CLOSES, from + 15 * random.int(2, 8));
      booked.push(`${clock(from)}-${clock(to)}`);
      from = to + 15 * random.int(2, 14);
    }
    return [name, booked];
  }));
}

/** Date and time tell the tasks apart. */
function makeTasks(random: Random, building: Building): RoomTask[] {
  const tasks: RoomTask[] = [];
  const taken = new Set<string>();
  while (tasks.length < TASKS_OF_A_KIND * kinds.length) {
    const kind = kinds[tasks.length % kinds.length]!;
    const start = OPENS + 15 * random.int(0, 36);
    const task: RoomTask = {
      id: `room-${String(tasks.length + 1).padStart(3, '0')}`, date: random.pick(dates), time: clock(start), duration_min: 15 * random.int(2, 6),
      attendees: random.int(2, 12), needs: random.sample(features, random.int(0, 2)), expected: '',
    };
    const key = `${task.date} ${task.time}`;
    task.expected = bestRoom(building, task);
    const isDecidedByKind = kind === 'none' ? task.expected === 'none' : task.expected !== 'none' && bestRoom(building, task, new Set([kind])) !== task.expected;
    if (taken.has(key) || start + task.duration_min > CLOSES || !isDecidedByKind) continue;
    taken.add(key);
    tasks.push(task);
  }
  return tasks;
}

function clock(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? fileURLToPath(new URL('.', import.meta.url));
  for (const [path, content] of generateFiles()) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
}
