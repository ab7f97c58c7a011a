import type { TextDocument } from 'vscode';
import type { Candidate } from './plan.ts';
import { candidatesOf } from './plan.ts';

const sizeLimit = 1 << 18; // larger sources are generated
const known = new WeakMap<TextDocument, { version: number; candidates: Candidate[] }>();

/** The candidates of a document, read once for each of its versions. */
export function candidatesIn(document: TextDocument): Candidate[] {
  const last = known.get(document);
  if (last?.version === document.version) return last.candidates;
  const text = document.getText();
  const candidates = text.length > sizeLimit ? [] : candidatesOf(document.fileName, text);
  known.set(document, { version: document.version, candidates });
  return candidates;
}
