import assert from 'node:assert/strict';
import { Template } from '@huggingface/jinja';
import { formatOf, type RenderChat } from '../../../trainer/export/conversation.ts';
import { goTemplate } from '../../../trainer/export/ollama.ts';
import { TrainerError } from '../../../trainer/protocol/errors.ts';
import { chatTemplates, countingTemplate } from '../../fixtures/chat-templates.ts';

const rendering = (template: string): RenderChat => (messages) => {
  try {
    return new Template(template).render({ messages, add_generation_prompt: true, bos_token: '' });
  } catch (cause) {
    throw new TrainerError('bad_input', 'refused', { cause });
  }
};

describe('the format of conversations', () => {
  it('is found from what a chat template writes, and cuts no token in two', () => {
    assert.deepEqual(formatOf(rendering(chatTemplates.headers)), {
      opening: '', answer: '',
      system: { before: '<|start_header_id|>system<|end_header_id|>\n\n', after: '<|eot_id|>' },
      user: { before: '<|start_header_id|>user<|end_header_id|>\n\n', after: '<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n' },
      assistant: { before: '', after: '<|eot_id|>' },
    });
    assert.deepEqual(formatOf(rendering(chatTemplates['system message in the first turn']))?.system, { joined: '\n\n' });
    assert.equal(formatOf(rendering(chatTemplates['no system message']))?.system, null);
    assert.match(formatOf(rendering(chatTemplates['a default system message, an opened answer']))!.opening, /^<\|im_start\|>system\nYou help\./);
  });

  it('is null of a template that does more', () => assert.equal(formatOf(rendering(countingTemplate)), null));

  it('in Go', () => {
    assert.equal(goTemplate(formatOf(rendering(chatTemplates['roles as names']))!), [
      '{{ range $i, $message := .Messages }}',
      '{{ if eq .Role "user" }}<|im_start|>user\n{{ .Content }}<|im_end|>\n<|im_start|>assistant\n',
      '{{ else if eq .Role "assistant" }}{{ .Content }}<|im_end|>\n',
      '{{ else if eq .Role "system" }}<|im_start|>system\n{{ .Content }}<|im_end|>\n',
      '{{ end }}{{ end }}',
    ].join(''));
  });
});
