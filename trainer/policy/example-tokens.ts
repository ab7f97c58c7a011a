import { readConfig } from '../models/config.ts';
import { fetchModel } from '../models/hub/fetch-model.ts';
import { openTokenizer, type ModelTokenizer } from '../models/tokenizer.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Example } from '../protocol/examples.ts';

/** Conversations in the tokens of one model, cut where its sampler would cut them. */
export class ExampleTokens {
  readonly contextLength: number;
  readonly #tokenizer: ModelTokenizer;
  readonly #stopIds: ReadonlySet<number>;

  private constructor(tokenizer: ModelTokenizer, stopIds: number[], contextLength: number) {
    this.#tokenizer = tokenizer;
    this.#stopIds = new Set(stopIds);
    this.contextLength = contextLength;
  }

  /** Of a model named as for `openPolicy`. Throws TrainerError when it cannot be read. */
  static async open(model: string): Promise<ExampleTokens> {
    const place = await fetchModel(model);
    const config = await readConfig(place);
    const tokenizer = await openTokenizer(place, config.vocab);
    return new ExampleTokens(tokenizer, tokenizer.eosId === null ? config.eosIds : [...config.eosIds, tokenizer.eosId], config.contextLength);
  }

  /**
   * For each of the assistant's messages that is learned, the prompt as it would be asked and the answer up to its end token.
   * The border is a border of tokens: an answer is encoded on its own, as it is sampled.
   * Throws TrainerError 'bad_input' when the chat template has no such border.
   */
  answers({ messages, tools, from }: Example): { prompt: number[]; response: number[] }[] {
    return messages.flatMap((message, i) => {
      if (message.role !== 'assistant' || i < from) return [];
      const prompt = this.#tokenizer.renderChat(messages.slice(0, i), tools);
      const whole = this.#tokenizer.renderChat(messages.slice(0, i + 1), tools, false);
      if (!whole.startsWith(prompt)) throw new TrainerError('bad_input', "The model's chat template writes a conversation differently before and after the assistant's answer, so what is to be learned cannot be told from the prompt. Use a template that only appends.");
      return [{ prompt: this.#tokenizer.encode(prompt), response: this.#ended(this.#tokenizer.encode(whole.slice(prompt.length))) }];
    });
  }

  /** Up to the first end token; one is added where the template writes none. */
  #ended(answer: number[]): number[] {
    const end = answer.findIndex((id) => this.#stopIds.has(id));
    if (end >= 0) return answer.slice(0, end + 1);
    const [stop] = this.#stopIds;
    return stop === undefined ? answer : [...answer, stop];
  }
}
