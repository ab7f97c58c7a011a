/** The rooms, what speaks against one, and the reward. agent.py holds the same; a test compares them. */
import { readFileSync } from 'node:fs';

export interface Room { name: string; floor: number; seats: number; features: string[] }
/** By date and room, as `HH:MM-HH:MM`. */
export type Bookings = Record<string, Record<string, string[]>>;
export interface Building { rooms: Room[]; bookings: Bookings }

export interface RoomTask {
  id: string;
  date: string;
  time: string;
  duration_min: number;
  attendees: number;
  needs: string[];
  /** Name of the room, or `none`. Only the reward sees it. */
  expected: string;
}

/** A rule of the house that a room breaks. */
export interface Fault { rule: 'seats' | 'features' | 'free' | 'gap'; text: string }

/** Minutes between two meetings in a room. */
const GAP = 15;

export function readBuilding(file: URL): Building {
  return JSON.parse(readFileSync(file, 'utf8')) as Building;
}

/** Everything that speaks against a room. */
export function faultsOf(room: Room, task: RoomTask, bookings: Bookings): Fault[] {
  const start = minutes(task.time);
  const end = start + task.duration_min;
  const faults: Fault[] = [];
  if (room.seats < task.attendees) faults.push({ rule: 'seats', text: `has ${room.seats} seats for ${task.attendees} people` });
  for (const need of task.needs) if (!room.features.includes(need)) faults.push({ rule: 'features', text: `has no ${need}` });
  for (const booking of bookings[task.date]?.[room.name] ?? []) {
    const [from = 0, to = 0] = booking.split('-').map(minutes);
    if (from < end && start < to) faults.push({ rule: 'free', text: `is booked ${booking}` });
    else if (from < end + GAP && start < to + GAP) faults.push({ rule: 'gap', text: `is booked ${booking}, and ${GAP} minutes must lie between two meetings` });
  }
  return faults;
}

/** Compares the room named in the last line of the answer with the expected one. The reason says what was wrong, not what was right. */
export function score({ rooms, bookings }: Building, task: RoomTask, answer: string): { reward: number; reason: string } {
  const lastLine = answer.trim().split('\n').at(-1) ?? '';
  const named = [...rooms.map(({ name }) => name), 'none'].filter((name) => new RegExp(`\\b${name}\\b`, 'i').test(lastLine));
  const [choice, ...others] = named;
  if (choice === undefined || others.length > 0) {
    return { reward: 0, reason: `The last line of the answer names ${named.join(' and ') || 'no room'}. It must name one room, or say none.` };
  }
  if (choice === task.expected) return { reward: 1, reason: 'Right.' };
  const room = rooms.find(({ name }) => name === choice);
  if (!room) return { reward: 0, reason: 'There is a room that fits.' };
  const faults = faultsOf(room, task, bookings);
  if (faults.length > 0) return { reward: faults.length === 1 ? 0.25 : 0, reason: `${choice} ${faults.map(({ text }) => text).join('; it ')}.` };
  return { reward: 0.5, reason: `${choice} fits, but the smallest room that fits is taken, and of equal ones the one on the lowest floor.` };
}

export function minutes(time: string): number {
  const [hours, rest] = time.split(':').map(Number);
  return hours! * 60 + rest!;
}
