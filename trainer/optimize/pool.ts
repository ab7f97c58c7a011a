import { canonicalJson } from '../datasets/canonical.ts';
import { TrainerError } from '../protocol/errors.ts';
import type { Candidate, OptimizeCost, Rejection } from '../protocol/optimize.ts';
import { noCost } from './meter.ts';

/** Texts by prompt id: one for each prompt of the search. */
export type Texts = Record<string, string>;

/** A candidate before it has run. */
export interface Draft {
  parents: readonly Candidate[];
  origin: Candidate['origin'];
  round: number;
  texts: Texts;
  critique?: string | null;
  status?: Candidate['status'];
  rejection?: Rejection | null;
  repairs?: number;
  cost?: OptimizeCost;
}

/** `c0`, `c1`, … in the order of proposal; what is written by hand has a row of its own, so that a resumed search finds its own ids again. */
export function newCandidate(known: readonly Candidate[], draft: Draft, spent: OptimizeCost): Candidate {
  const letter = draft.origin === 'hand' ? 'h' : 'c';
  const sameKind = known.filter((candidate) => candidate.candidate_id.startsWith(letter)).length;
  return {
    candidate_id: `${letter}${letter === 'h' ? sameKind + 1 : sameKind}`,
    parents: draft.parents.map((parent) => parent.candidate_id),
    origin: draft.origin, round: draft.round, texts: draft.texts,
    status: draft.status ?? 'proposed', critique: draft.critique ?? null, rejection: draft.rejection ?? null, repairs: draft.repairs ?? 0,
    minibatch: null, validation: null, test: null, results: [],
    cost: draft.cost ?? noCost(), spent: { ...spent }, pinned: false, create_time: Date.now() / 1000,
  };
}

/** A candidate written by hand: `texts` in place of its parent's. Throws TrainerError 'bad_input' for a prompt that does not exist. */
export function handDraft(parent: Candidate, texts: Texts): Draft {
  const unknown = Object.keys(texts).find((id) => !(id in parent.texts));
  if (unknown !== undefined) throw new TrainerError('bad_input', `The search has no prompt ${unknown}; it has ${Object.keys(parent.texts).join(', ')}.`);
  return { parents: [parent], origin: 'hand', round: parent.round, texts: { ...parent.texts, ...texts } };
}

/** All candidates of a search. Whatever changes is told at once, so that it is recorded before anything builds on it. */
export class Pool {
  readonly all: Candidate[] = [];
  readonly #recorded: readonly Candidate[];
  readonly #changed: (candidate: Candidate) => void;
  readonly #spent: () => OptimizeCost;

  constructor({ spent, recorded = [], changed = () => {} }: { spent: () => OptimizeCost; recorded?: readonly Candidate[] | undefined; changed?: ((candidate: Candidate) => void) | undefined }) {
    this.#spent = spent;
    this.#recorded = recorded;
    this.#changed = changed;
  }

  /** A new candidate; one that an interrupted search had proposed before stays pinned. */
  add(draft: Draft): Candidate {
    const candidate = newCandidate(this.all, draft, this.#spent());
    const twin = this.#recorded.find(({ candidate_id, texts }) => candidate_id === candidate.candidate_id && canonicalJson(texts) === canonicalJson(candidate.texts));
    return this.take(twin ? { ...candidate, pinned: twin.pinned, create_time: twin.create_time } : candidate);
  }

  /** A candidate as it was recorded. */
  take(candidate: Candidate): Candidate {
    this.all.push(candidate);
    this.#changed(candidate);
    return candidate;
  }

  update(candidate: Candidate, patch: Partial<Candidate>): Candidate {
    Object.assign(candidate, patch, { spent: { ...this.#spent() } });
    this.#changed(candidate);
    return candidate;
  }

  get kept(): Candidate[] {
    return this.all.filter((candidate) => candidate.status === 'kept');
  }

  byId(candidate_id: string): Candidate | undefined {
    return this.all.find((candidate) => candidate.candidate_id === candidate_id);
  }

  /** The candidate that has these texts, unless it was rejected. */
  withTexts(texts: Texts): Candidate | undefined {
    const key = canonicalJson(texts);
    return this.all.find((candidate) => candidate.status !== 'rejected' && canonicalJson(candidate.texts) === key);
  }

  /** Its parents, their parents, and so on, without itself. */
  ancestors(candidate: Candidate): Candidate[] {
    const found = new Set<Candidate>();
    const visit = ({ parents }: Candidate): void => {
      for (const id of parents) {
        const parent = this.byId(id);
        if (!parent || found.has(parent)) continue;
        found.add(parent);
        visit(parent);
      }
    };
    visit(candidate);
    return [...found];
  }
}
