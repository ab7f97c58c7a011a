import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bestRoom, generateFiles } from '../../../examples/room-selector/generate.ts';
import { faultsOf, readBuilding, score, type RoomTask } from '../../../examples/room-selector/rooms.ts';

const folder = new URL('../../../examples/room-selector/', import.meta.url);
const tasks = readFileSync(new URL('data/tasks.jsonl', folder), 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line) as RoomTask);
const building = readBuilding(new URL('rooms.json', folder));

describe('data of the room selector', () => {
  it('is what generate.ts writes, byte for byte', () => {
    for (const [path, content] of generateFiles()) assert.equal(readFileSync(fileURLToPath(new URL(path, folder)), 'utf8'), content, `${path} differs; run npx tsx examples/room-selector/generate.ts`);
  });

  it('has tasks that are all different, and each rule decides some', () => {
    assert.ok(tasks.length >= 120);
    assert.equal(new Set(tasks.map(({ date, time }) => `${date} ${time}`)).size, tasks.length);
    for (const rule of ['seats', 'features', 'free', 'gap', 'order'] as const) {
      assert.ok(tasks.filter((task) => bestRoom(building, task, new Set([rule])) !== task.expected).length >= 30, rule);
    }
    assert.ok(tasks.filter(({ expected }) => expected === 'none').length >= 30);
  });

  it('expects the room that the rules choose, alone of its kind', () => {
    for (const task of tasks) {
      const fitting = building.rooms.filter((room) => faultsOf(room, task, building.bookings).length === 0);
      assert.equal(bestRoom(building, task), task.expected);
      const best = fitting.find(({ name }) => name === task.expected);
      for (const other of fitting) if (other !== best) assert.ok(other.seats > best!.seats || (other.seats === best!.seats && other.floor > best!.floor), task.id);
    }
  });
});

describe('reward of the room selector', () => {
  const task: RoomTask = { id: 't', date: '2026-03-02', time: '10:00', duration_min: 60, attendees: 5, needs: ['projector'], expected: 'Elm' };
  const of = (answer: string, booked: Record<string, string[]> = {}, changes: Partial<RoomTask> = {}) => score({ ...building, bookings: { [task.date]: booked } }, { ...task, ...changes }, answer);

  it('is read from the last line of the answer', () => {
    assert.deepEqual(of('Oak is too large.\n**elm**\n'), { reward: 1, reason: 'Right.' });
    assert.deepEqual(of('Elm\nor another'), { reward: 0, reason: 'The last line of the answer names no room. It must name one room, or say none.' });
    assert.match(of('Elm, since Fir has no projector').reason, /names Fir and Elm\./);
    assert.equal(of('').reward, 0);
  });

  it('says what speaks against a room', () => {
    assert.deepEqual(of('Birch', { Birch: ['08:00-09:45', '10:30-12:00'] }), { reward: 0, reason: 'Birch has 4 seats for 5 people; it has no projector; it is booked 10:30-12:00.' });
    assert.deepEqual(of('Oak', { Oak: ['09:00-10:00'] }), { reward: 0.25, reason: 'Oak is booked 09:00-10:00, and 15 minutes must lie between two meetings.' });
    assert.equal(of('Oak', { Oak: ['09:00-09:45', '11:15-12:00'] }).reward, 0.5);
    assert.match(of('none').reason, /There is a room that fits/);
    assert.equal(of('none', {}, { expected: 'none' }).reward, 1);
  });

  it('never tells the expected room', () => {
    for (const task of tasks) {
      for (const name of [...building.rooms.map((room) => room.name), 'none']) {
        const { reward, reason } = score(building, task, name);
        if (reward < 1 && task.expected !== 'none') assert.ok(!reason.includes(task.expected), `${task.id}: ${reason}`);
      }
    }
  });
});
