import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CreditSettings } from '../protocol/credit.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { parseAs } from '../protocol/validate.ts';

const initial: CreditSettings = { rule: { kind: 'final' }, links: {} };

/** The credit rule and links a person chose for a run, kept beside its other files. */
export function readCredit(folder: string): CreditSettings {
  const file = fileOf(folder);
  if (!existsSync(file)) return initial;
  try {
    return parseAs(CreditSettings, JSON.parse(readFileSync(file, 'utf8')), file);
  } catch (error) {
    throw new TrainerError('bad_input', `${file} cannot be read: ${messageOf(error)} Delete it to go back to the final reward.`, { cause: error });
  }
}

export function writeCredit(folder: string, settings: CreditSettings): void {
  mkdirSync(folder, { recursive: true });
  const file = fileOf(folder);
  writeFileSync(`${file}.new`, JSON.stringify(settings, null, 2));
  renameSync(`${file}.new`, file);
}

function fileOf(folder: string): string {
  return path.join(folder, 'credit.json');
}
