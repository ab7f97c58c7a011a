import assert from 'node:assert/strict';
import type { Prompt } from '../../../trainer/protocol/prompts.ts';
import { leakCheck } from '../../../trainer/prompts/leaks.ts';

const prompt = (text: string): Prompt => ({ prompt_id: 'agent.py#P', name: 'P', file: 'agent.py', syntax: 'python-string', engine: 'none', from: 0, to: 1, line: 1, text, variables: [], agents: [] });

function leaks(inputs: unknown[], text: string, today = 'Answer the question.'): boolean {
  const rejection = leakCheck([prompt(today)], inputs)({ 'agent.py#P': text });
  assert(rejection === null || (rejection.rule === 'leak' && rejection.prompt_id === 'agent.py#P'));
  return rejection !== null;
}

const rooms = ['Room A', 'Room B', 'Room C', 'Conference Room Delta'];
const meetings = Array.from({ length: 24 }, (_, i) => ({ id: `m${i}`, people: i % 7 + 2, request: `Meeting ${i} of the ${['sales', 'design', 'legal'][i % 3]} team needs ${i % 2 ? 'a projector' : 'a whiteboard'} at ${8 + i % 9}:00`, expected: rooms[i % 4] }));
const questions = [
  { question: 'What is the capital of Australia?', answer: 'Canberra' },
  { question: 'Who wrote the novel The Master and Margarita?', answer: 'Mikhail Bulgakov' },
  { question: 'How many seconds are there in one week?', answer: 604800 },
  { question: 'Is the sun a star?', answer: 'yes' },
  { question: 'How many legs does a spider have?', answer: 8 },
];

describe('leaks of the data into a prompt', () => {
  it('finds inputs and answers that are copied', () => {
    assert(leaks(questions, 'Example: "what is the capital of   Australia" is about geography.'));
    assert(leaks(questions, 'If asked about novels, the answer is Mikhail Bulgakov.'));
    assert(leaks(questions, 'A week has 604,800 seconds.'.replace(',', '')));
    assert(leaks(meetings, `Example: ${meetings[3]?.request} gets Room D.`));
    assert(leaks([{ q: '甲是什麼地方的首都之一呢請問', answer: '澳大利亞坎培拉' }, { q: '乙', answer: '無' }], '答案是澳大利亞坎培拉。'));
  });

  it('finds a short answer beside its question in other words', () => {
    assert(leaks(questions, 'Remember:\nthe capital of Australia, what is it?\nCanberra'));
    assert(leaks(questions, 'How many legs a spider does have: 8'));
    assert(!leaks(questions, 'Say Canberra or Sydney only if the question is about cities.'));
  });

  it('lets the vocabulary of the instructions be said', () => {
    assert(!leaks(meetings, 'Choose one of Room A, Room B, Room C and Conference Room Delta. Take the smallest that has what the team needs.'));
    assert(!leaks(meetings, 'The sales team, the design team and the legal team need a projector or a whiteboard at 8:00.'));
    assert(!leaks(questions, 'Answer yes or no, or with a number such as 8 or 4.'));
    assert(!leaks(questions, 'Name the capital of the country, who wrote the novel, or how many there are.'));
  });

  it('lets what several tasks share be said, and what the prompt says today', () => {
    const context = 'The following rooms are free in the building today.';
    assert(!leaks([{ context, q: 'first of all of them' }, { context, q: 'second of all of them' }], `You are told: ${context}`));
    assert(!leaks(questions, 'Example: What is the capital of Australia? Canberra', 'Answer. Example: What is the capital of Australia? Canberra'));
    assert(!leaks([], 'Anything at all.'));
  });

  it('reads tasks of any shape', () => {
    assert(leaks([{ meta: { expectedOutput: ['the quick brown fox'] } }, 'a task that is only one text here'], 'Say the quick brown fox.'));
    assert(leaks(['a task that is only one text here', 'and another'], 'A task that is only one text here!'));
  });
});
