import { createHash } from 'node:crypto';
import { deriveSeed } from '../algorithms/seeds.ts';
import type { ChatMessage } from '../protocol/chat.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { Candidate, OptimizeCost, Rejection, TaskResult } from '../protocol/optimize.ts';
import type { Prompt } from '../protocol/prompts.ts';
import { critiqueIn, promptIn, withMarginsOf } from './answer-text.ts';
import type { Lab } from './lab.ts';
import { noCost } from './meter.ts';
import type { Texts } from './pool.ts';
import { askForCritique, askForEdit, askToReflect, askToRepair, type Example, type Subject } from './questions.ts';

export interface OptimizerAnswer { text: string; input_tokens: number; output_tokens: number }

/** Answers the questions of a search. Rejects with a TrainerError. */
export type AskOptimizer = (messages: ChatMessage[], seed: number, signal: AbortSignal) => Promise<OptimizerAnswer>;

/** Why new texts cannot be used in place of their parent's; null when they can. */
export type CheckTexts = (prompt: Prompt, texts: Texts, parent: Texts) => Rejection | null;

export interface ProposerOptions { ask: AskOptimizer; check: CheckTexts; /** characters */ limit: number }

/** Where a proposal stands: it names the seed of its questions, and what is recorded of it. */
export interface Place { round: number; branch: number }

/** Times that the optimiser may mend a text. */
const mostRepairs = 2;
/** Questions that fail in a row, until the search gives up. */
const hopeless = 3;
/** Of all examples of one question. */
const exampleCharacters = 24_000;

/** Turns what happened into new candidates, by asking the optimiser; mends or rejects what breaks a rule. */
export class Proposer {
  readonly #lab: Lab;
  readonly #options: ProposerOptions;
  #failures = 0;

  constructor(lab: Lab, options: ProposerOptions) {
    this.#lab = lab;
    this.#options = options;
  }

  /** One question: critique and new text. null: it was rejected. */
  async reflect(parent: Candidate, prompt: Prompt, results: readonly TaskResult[], place: Place): Promise<Candidate | null> {
    const subject = this.#subject(parent, prompt);
    return this.#propose(parent, subject, askToReflect(subject, this.#examples(results)), { place, origin: 'reflection', critique: null, cost: noCost() });
  }

  /** Two questions: a critique (the textual gradient), then its edit. null: it was rejected. */
  async gradient(parent: Candidate, prompt: Prompt, results: readonly TaskResult[], place: Place): Promise<Candidate | null> {
    const subject = this.#subject(parent, prompt);
    const cost = noCost();
    const answer = await this.#ask(askForCritique(subject, this.#examples(results)), place, 0, cost);
    if (answer === null) return null;
    const critique = critiqueIn(answer);
    return this.#propose(parent, subject, askForEdit(subject, critique, place.branch % 2 === 1), { place, origin: 'gradient', critique, cost });
  }

  async #propose(parent: Candidate, subject: Subject, question: ChatMessage[], { place, origin, critique: known, cost }: { place: Place; origin: 'reflection' | 'gradient'; critique: string | null; cost: OptimizeCost }): Promise<Candidate | null> {
    const { prompt } = subject;
    const { pool } = this.#lab;
    let messages = question;
    let critique = known;
    let rejection: Rejection | null = null;
    let texts = parent.texts;
    for (let repairs = 0; repairs <= mostRepairs; repairs++) {
      const answer = await this.#ask(messages, place, 1 + repairs, cost);
      if (answer === null) return null;
      if (repairs === 0) critique ??= critiqueIn(answer);
      const text = promptIn(answer);
      if (text !== null) texts = { ...parent.texts, [prompt.prompt_id]: withMarginsOf(parent.texts[prompt.prompt_id] ?? '', text) };
      const fault = text === null ? noAnswer(prompt) : this.#fault(prompt, texts, parent);
      if (fault === null) return pool.add({ parents: [parent], origin, round: place.round, texts, critique, rejection, repairs, cost });
      rejection = fault;
      messages = [...messages, ...askToRepair(answer, fault)];
    }
    pool.add({ parents: [parent], origin, round: place.round, texts, critique, rejection, repairs: mostRepairs, cost, status: 'rejected' });
    return null;
  }

  #fault(prompt: Prompt, texts: Texts, parent: Candidate): Rejection | null {
    const prompt_id = prompt.prompt_id;
    if (texts[prompt_id] === parent.texts[prompt_id]) return { rule: 'unchanged', prompt_id, message: 'The prompt is the same as before.' };
    const fault = this.#options.check(prompt, texts, parent.texts);
    if (fault) return fault;
    const twin = this.#lab.pool.withTexts(texts);
    return twin ? { rule: 'duplicate', prompt_id, message: `This very prompt has been tried already (${twin.candidate_id}).` } : null;
  }

  /** null: the optimiser failed, which is told as a rejection only when it goes on failing. */
  async #ask(messages: ChatMessage[], { round, branch }: Place, ordinal: number, cost: OptimizeCost): Promise<string | null> {
    const { meter, seed } = this.#lab;
    this.#lab.throwIfOver();
    meter.require(0);
    try {
      const { text, input_tokens, output_tokens } = await this.#options.ask(messages, deriveSeed(seed, 'optimiser', round, branch, ordinal), this.#lab.signal);
      meter.charge({ optimizer_calls: 1, input_tokens, output_tokens }, cost);
      this.#failures = 0;
      return text;
    } catch (error) {
      this.#lab.throwIfOver();
      this.#failures += 1;
      if (this.#failures < hopeless && !(error instanceof TrainerError && error.code === 'cancelled')) return null;
      throw error instanceof TrainerError ? error : new TrainerError('upstream', `The optimiser does not answer: ${messageOf(error)}`, { cause: error });
    }
  }

  #subject(parent: Candidate, prompt: Prompt): Subject {
    return { prompt, texts: parent.texts, prompts: this.#lab.prompts, limit: this.#options.limit };
  }

  #examples(results: readonly TaskResult[]): Example[] {
    const limit = Math.floor(exampleCharacters / Math.max(1, results.length));
    return results.map(({ reward, outcome, reason, rollout_id }) => ({ reward, outcome, reason, transcript: this.#lab.evaluator.transcript(rollout_id, limit) }));
  }
}

function noAnswer({ prompt_id }: Prompt): Rejection {
  return { rule: 'no-answer', prompt_id, message: 'There is no complete prompt between <prompt> and </prompt>.' };
}

/** Names a question, so that its answer can be found again. */
export function questionKey(messages: readonly ChatMessage[], seed: number): string {
  return createHash('sha256').update(JSON.stringify([messages, seed])).digest('hex');
}
