import assert from 'node:assert/strict';
import { Meter, SearchOver } from '../../../trainer/optimize/meter.ts';
import { fingerprintOf, partsOf } from '../../../trainer/optimize/parts.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { tasksNamed } from './support.ts';

const settings = { algorithm: 'gepa' as const, budget: { rollouts: 200 }, seed: 3 };
const sizes = (parts: Record<string, unknown[]>) => Object.fromEntries(Object.entries(parts).map(([part, tasks]) => [part, tasks.length]));

describe('optimize: parts', () => {
  it('splits what is missing off the data, in sizes that the budget can measure', () => {
    const parts = partsOf({ data: tasksNamed('t', 200), validation: null, test: null }, settings);
    assert.deepEqual(sizes({ ...parts }), { train: 156, validation: 20, test: 24 });
    assert.equal(new Set(Object.values(parts).flat().map((task: { id: string }) => task.id)).size, 200);
    assert.deepEqual(parts, partsOf({ data: tasksNamed('t', 200).reverse().reverse(), validation: null, test: null }, { ...settings, algorithm: 'apo' }));
    assert.notDeepEqual(parts, partsOf({ data: tasksNamed('t', 200), validation: null, test: null }, { ...settings, seed: 4 }));
  });

  it('takes files as they are, and keeps twins of a task together', () => {
    const parts = partsOf({ data: tasksNamed('t', 10), validation: tasksNamed('v', 3), test: tasksNamed('x', 4) }, settings);
    assert.deepEqual(sizes({ ...parts }), { train: 10, validation: 3, test: 4 });
    const twins = [...tasksNamed('t', 12), ...tasksNamed('t', 12).map((task) => ({ ...task, id: `${task.id}-twin` }))];
    const split = partsOf({ data: twins, validation: null, test: null }, settings);
    const contents = (tasks: { input: unknown }[]) => new Set(tasks.map(({ input }) => JSON.stringify(input)));
    for (const content of contents(split.test)) assert.ok(!contents(split.train).has(content) && !contents(split.validation).has(content));
  });

  it('refuses a held-out task that is also learned from, and too few tasks', () => {
    const refused = (given: Parameters<typeof partsOf>[0], message: RegExp) => assert.throws(() => partsOf(given, settings), (error) => error instanceof TrainerError && error.code === 'bad_input' && message.test(error.message));
    refused({ data: tasksNamed('t', 10), validation: tasksNamed('v', 3), test: tasksNamed('t', 2) }, /t0.*also/);
    refused({ data: tasksNamed('t', 2), validation: null, test: null }, /2 different task\(s\).*at least 3/);
    assert.deepEqual(sizes({ ...partsOf({ data: tasksNamed('t', 3), validation: null, test: null }, settings) }), { train: 1, validation: 1, test: 1 });
  });

  it('a baseline measures all tasks that it may', () => {
    assert.deepEqual(sizes({ ...partsOf({ data: tasksNamed('t', 300), validation: null, test: null }, { ...settings, algorithm: 'baseline' }) }), { train: 0, validation: 0, test: 200 });
  });

  it('the fingerprint tells other tasks and other prompts', () => {
    const parts = partsOf({ data: tasksNamed('t', 20), validation: null, test: null }, settings);
    const same = fingerprintOf(parts, { p: 'x' });
    assert.equal(fingerprintOf(partsOf({ data: tasksNamed('t', 20), validation: null, test: null }, settings), { p: 'x' }), same);
    assert.notEqual(fingerprintOf(parts, { p: 'y' }), same);
    assert.notEqual(fingerprintOf({ ...parts, train: parts.train.slice(1) }, { p: 'x' }), same);
  });
});

describe('optimize: budget', () => {
  const over = (meter: Meter, rollouts = 0) => assert.throws(() => meter.require(rollouts), (error) => error instanceof SearchOver && error.reason === 'budget');

  it('rollouts: the last that fits is made, the reserve is left; cached ones are free', () => {
    const meter = new Meter({ budget: { rollouts: 10 }, reserve: 4 });
    meter.charge({ rollouts: 3 });
    meter.charge({ cached_rollouts: 50 });
    meter.require(3);
    over(meter, 4);
  });

  it('tokens and money: with what the report will cost at the rate so far', () => {
    const meter = new Meter({ budget: { tokens: 1000 }, reserve: 5 });
    meter.charge({ rollouts: 5, input_tokens: 200, output_tokens: 100 });
    meter.require(1);
    meter.charge({ rollouts: 5, input_tokens: 300, output_tokens: 100 });
    over(meter);
    const priced = new Meter({ budget: { usd: 0.01 }, prices: { input: 1, output: 4 } });
    priced.charge({ rollouts: 1, input_tokens: 5000, output_tokens: 1000 });
    assert.equal(priced.spent.usd, 0.009);
    priced.require(1);
    priced.charge({ optimizer_calls: 1, output_tokens: 300 });
    over(priced);
    assert.equal(new Meter({ budget: {} }).spent.usd, null);
  });

  it('minutes: of the clock it is given', () => {
    let seconds = 0;
    const meter = new Meter({ budget: { minutes: 1 }, seconds: () => seconds });
    seconds = 59;
    meter.require(1);
    seconds = 60;
    over(meter);
  });
});
