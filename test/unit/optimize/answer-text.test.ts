import assert from 'node:assert/strict';
import { critiqueIn, promptIn, withMarginsOf } from '../../../trainer/optimize/answer-text.ts';

describe('optimize: what a model answers', () => {
  const cases: [string, string, string | null][] = [
    ['tags', '<critique>c</critique>\n<prompt>\nDo it.\n</prompt>', 'Do it.'],
    ['a fence inside the tags', '<prompt>\n```text\nDo it.\nWell.\n```\n</prompt>', 'Do it.\nWell.'],
    ['code inside the prompt stays', '<prompt>\nAnswer as\n```json\n{"a": 1}\n```\nonly.\n</prompt>', 'Answer as\n```json\n{"a": 1}\n```\nonly.'],
    ['thoughts before it, with tags of their own', '<think>Maybe <prompt>no</prompt>?</think>Fine.\n<prompt>yes</prompt>', 'yes'],
    ['the last of several', '<prompt>draft</prompt> better: <PROMPT>final</PROMPT>', 'final'],
    ['only a fence', 'Here:\n```\nDo it.\n```\nEnjoy.', 'Do it.'],
    ['the longest fence', '```\nshort\n```\nand\n````markdown\nthe longer one, with ``` in it\n````', 'the longer one, with ``` in it'],
    ['cut off', '<prompt>\nDo it and', null],
    ['nothing', 'I cannot help with that.', null],
    ['empty', '<prompt>  \n</prompt>', null],
    ['line ends of Windows', '<prompt>\r\na\r\nb\r\n</prompt>', 'a\nb'],
  ];
  for (const [name, answer, expected] of cases) it(`prompt: ${name}`, () => assert.equal(promptIn(answer), expected));

  it('critique: tagged, or what comes before the prompt', () => {
    assert.equal(critiqueIn('<critique>\nToo vague.\n</critique><prompt>x</prompt>'), 'Too vague.');
    assert.equal(critiqueIn('Too vague.\n\n```\nx\n```'), 'Too vague.');
    assert.equal(critiqueIn('Too vague.'), 'Too vague.');
    assert.equal(critiqueIn('<critique>Too vague.'), 'Too vague.');
    assert.equal(critiqueIn('x'.repeat(10_000), 50).length, 50);
  });

  it('the blanks around the old text stay', () => {
    assert.equal(withMarginsOf('\n  old\n', 'new '), '\n  new\n');
    assert.equal(withMarginsOf('old', '\nnew\n'), 'new');
    assert.equal(withMarginsOf('  ', 'new'), '  new');
  });
});
