import type { PrefilledPrompt } from './decode-model.ts';

/** Recently prefilled prompts, up to a number of bytes: the rollouts of a group ask the same first question. */
export class PromptCache {
  readonly #capacity: number;
  readonly #prompts = new Map<string, PrefilledPrompt>();
  #bytes = 0;

  constructor(capacityBytes: number) { this.#capacity = capacityBytes; }

  get(key: string): PrefilledPrompt | undefined {
    const prompt = this.#prompts.get(key);
    if (prompt) {
      this.#prompts.delete(key);
      this.#prompts.set(key, prompt);
    }
    return prompt;
  }

  set(key: string, prompt: PrefilledPrompt): void {
    this.#prompts.set(key, prompt);
    this.#bytes += sizeOf(prompt);
    for (const [oldest, value] of this.#prompts) {
      if (this.#bytes <= this.#capacity) break;
      this.#prompts.delete(oldest);
      this.#bytes -= sizeOf(value);
    }
  }

  clear(): void {
    this.#prompts.clear();
    this.#bytes = 0;
  }
}

function sizeOf({ keys, values, logits }: PrefilledPrompt): number {
  return [...keys, ...values, logits].reduce((sum, { byteLength }) => sum + byteLength, 0);
}
