import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { StopMatcher } from '../../../trainer/models/detokenizer.ts';
import { openTokenizer, type ModelTokenizer } from '../../../trainer/models/tokenizer.ts';
import { makeTinyPolicy } from '../../fixtures/tiny-policy.ts';

describe('tokenizer', () => {
  let folder: string;
  let tokenizer: ModelTokenizer;
  before(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'tokenizer-'));
    await makeTinyPolicy(folder);
    tokenizer = await openTokenizer(folder);
  });
  after(() => rmSync(folder, { recursive: true }));
  const pieces = (ids: number[]) => {
    const detokenizer = tokenizer.detokenizer();
    return [...ids.map((id) => detokenizer.push(id)), detokenizer.end()];
  };

  it('loses nothing of any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (text) => {
      assert.equal(tokenizer.decode(tokenizer.encode(text)), text);
      assert.equal(pieces(tokenizer.encode(text)).join(''), text);
    }));
  });

  it('holds a character back until it is complete', () => {
    const ids = tokenizer.encode('é🙂');
    assert.deepEqual(pieces(ids), ['', 'é', '', '', '', '🙂', '']);
  });

  it('shows bytes that are no text as U+FFFD, whole or in pieces', () => {
    const euro = tokenizer.encode('€');
    const ids = [...euro.slice(0, 2), ...tokenizer.encode('a'), euro[0]!];
    assert.equal(pieces(ids).join(''), '\ufffda\ufffd');
    assert.equal(tokenizer.decode(ids), '\ufffda\ufffd');
  });

  it('prints no special tokens, but recognises them', () => {
    const end = tokenizer.idOf('<|im_end|>')!;
    assert.deepEqual(tokenizer.encode('a<|im_end|>'), [...tokenizer.encode('a'), end]);
    assert.equal(tokenizer.decode([...tokenizer.encode('a'), end, ...tokenizer.encode('b')]), 'ab');
    assert.equal(Buffer.from(tokenizer.bytesOf(end)).toString(), '<|im_end|>');
    assert.equal(tokenizer.eosId, end);
  });

  it('renders a conversation with the template, whatever form the content has', () => {
    const text = tokenizer.renderChat([
      { role: 'developer', content: 'S' }, { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] }, { role: 'assistant', content: null },
    ], null);
    assert.equal(text, '<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nab<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>assistant\n');
    assert.throws(() => tokenizer.renderChat([{ role: 'user', content: [{ type: 'image_url' }] }], null), /part of type "image_url"/);
  });

  it('the prompt of a second turn continues the tokens of the first', () => {
    const ask = { role: 'user', content: 'q' } as const;
    const first = tokenizer.encode(tokenizer.renderChat([ask], null));
    const answer = [...tokenizer.encode('ok'), tokenizer.idOf('<|im_end|>')!];
    const second = tokenizer.encode(tokenizer.renderChat([ask, { role: 'assistant', content: 'ok' }, ask], null));
    assert.deepEqual(second.slice(0, first.length + answer.length), [...first, ...answer]);
  });

  it('gives tools and parsed arguments to templates that use them', async () => {
    const copy = mkdtempSync(path.join(tmpdir(), 'tokenizer-'));
    writeFileSync(path.join(copy, 'tokenizer.json'), readFileSync(path.join(folder, 'tokenizer.json')));
    writeFileSync(path.join(copy, 'chat_template.jinja'), '{{ tools | length }}{% for c in messages[0].tool_calls %}{{ c.function.arguments.x }}{% endfor %}{% if messages[1] %}{{ raise_exception("no") }}{% endif %}');
    const other = await openTokenizer(copy);
    rmSync(copy, { recursive: true });
    const call = { role: 'assistant', tool_calls: [{ id: '1', type: 'function', function: { name: 'f', arguments: '{"x": 7}' } }] } as const;
    assert.equal(other.renderChat([{ ...call, tool_calls: [...call.tool_calls] }], [{}, {}]), '27');
    assert.throws(() => other.renderChat([{ role: 'user' }, { role: 'user' }], [{}]), /chat template refused the messages/);
  });

  it('ends a template that does not end', async () => {
    const copy = mkdtempSync(path.join(tmpdir(), 'tokenizer-'));
    writeFileSync(path.join(copy, 'tokenizer.json'), readFileSync(path.join(folder, 'tokenizer.json')));
    writeFileSync(path.join(copy, 'chat_template.jinja'), '{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}');
    const endless = await openTokenizer(copy);
    rmSync(copy, { recursive: true });
    assert.throws(() => endless.renderChat([{ role: 'user', content: 'x' }], null), { name: 'TrainerError', code: 'bad_input', message: /chat template was stopped after 1 s/ });
  });

  it('files that cannot be used are named', async () => {
    const copy = mkdtempSync(path.join(tmpdir(), 'tokenizer-'));
    const json = JSON.parse(readFileSync(path.join(folder, 'tokenizer.json'), 'utf8'));
    await assert.rejects(openTokenizer(copy), /There is no .*tokenizer.json/);
    writeFileSync(path.join(copy, 'tokenizer.json'), JSON.stringify({ ...json, decoder: { type: 'Metaspace' } }));
    await assert.rejects(openTokenizer(copy), /decoder "Metaspace" is not supported/);
    writeFileSync(path.join(copy, 'tokenizer.json'), '{"model": 3}');
    await assert.rejects(openTokenizer(copy), /tokenizer.json: /);
    const wrong = async (model: object, message: RegExp) => {
      writeFileSync(path.join(copy, 'tokenizer.json'), JSON.stringify({ ...json, model: { ...json.model, ...model } }));
      await assert.rejects(openTokenizer(copy, 272), message);
    };
    await wrong({ vocab: { a: 'x' } }, /^TrainerError: [^\n]*tokenizer.json: model.vocab.a: [^\n]*$/);
    await wrong({ vocab: { a: 272 } }, /model.vocab.a: Too big/);
    await wrong({ merges: ['a b', 7] }, /model.merges.1: must be a string or a pair of strings/);
    writeFileSync(path.join(copy, 'tokenizer.json'), JSON.stringify(json));
    await assert.rejects(openTokenizer(copy).then((t) => t.renderChat([{ role: 'user' }], null)), /no chat template/);
    rmSync(copy, { recursive: true });
  });
});

describe('stop strings', () => {
  const run = (stops: string[], texts: string[]) => {
    const matcher = new StopMatcher(stops);
    return { pieces: texts.map((text) => matcher.push(text)), rest: matcher.end(), stopped: matcher.stopped };
  };

  it('end the text before them, also across pieces', () => {
    assert.deepEqual(run(['END'], ['ab E', 'N', 'D cd', 'ef']), { pieces: ['ab ', '', '', ''], rest: '', stopped: true });
  });

  it('release what only looked like one', () => {
    assert.deepEqual(run(['END'], ['a EN', 'd', 'E']), { pieces: ['a ', 'ENd', ''], rest: 'E', stopped: false });
  });

  it('the earliest wins, an empty one means nothing', () => {
    assert.deepEqual(run(['b', 'ab', ''], ['xxabc']), { pieces: ['xx'], rest: '', stopped: true });
    assert.deepEqual(run([''], ['xx']), { pieces: ['xx'], rest: '', stopped: false });
  });
});
