import { createHash } from 'node:crypto';
import { TrainerError } from '../protocol/errors.ts';
import type { ConstrainedPart } from '../protocol/policy.ts';
import type { AllowedTokens, TokenRow } from './micro-batches.ts';
import type { OutputGrammars } from './output-grammar.ts';
import { OutputFormat } from './output-format.ts';

/**
 * The rows with the tokens that each constrained one was drawn among: its format's grammar goes through the response again. Equal masks are one array.
 * Throws TrainerError `bad_input` for a token that its format does not allow: the row was not drawn with this model's tokens.
 */
export function withAllowedTokens<Row extends Omit<TokenRow, 'allowed'> & { constraints?: ConstrainedPart[] }>(rows: readonly Row[], grammars: OutputGrammars): (Row & Pick<TokenRow, 'allowed'>)[] {
  const shared = sharedMasks();
  return rows.map((row, index) => {
    if (!row.constraints?.length) return row;
    const allowed = new Map<number, Uint32Array>();
    for (const part of row.constraints) follow(part, row, index, grammars, (at, mask) => allowed.set(at, shared(mask)));
    return { ...row, allowed } satisfies { allowed: AllowedTokens };
  });
}

function follow({ start, length, format }: ConstrainedPart, { tokens }: Pick<TokenRow, 'tokens'>, index: number, grammars: OutputGrammars, found: (at: number, mask: Uint32Array) => void): void {
  const refuse = (problem: string) => new TrainerError('bad_input', `Training row ${index} cannot be used: ${problem}. Rows under a format must come from this very model and version of the trainer.`);
  const constraint = grammars.constraint(OutputFormat.parse(JSON.parse(format)));
  for (let at = start; at < start + length; at++) {
    const token = tokens[at] as number;
    const mask = constraint.allowed();
    if ((((mask[token >> 5] ?? 0) >>> (token & 31)) & 1) === 0) throw refuse(`its format does not allow token ${token} at ${at}`);
    found(at, mask);
    constraint.accept(token);
  }
}

/** Gives the same array for masks of equal bits: a grammar has a state, and a mask, for every length of a string. */
function sharedMasks(): (mask: Uint32Array) => Uint32Array {
  const byBits = new Map<string, Uint32Array>();
  const seen = new WeakMap<Uint32Array, Uint32Array>();
  return (mask) => {
    let same = seen.get(mask);
    if (same) return same;
    const bits = createHash('sha256').update(mask).digest('base64');
    same = byBits.get(bits) ?? mask;
    byBits.set(bits, same);
    seen.set(mask, same);
    return same;
  };
}
