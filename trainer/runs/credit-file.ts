import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CreditSettings } from '../protocol/credit.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import { parseAs } from '../protocol/validate.ts';

/** The credit rule and links a person chose for a run, kept beside its other files; null when they chose none. */
export function readCredit(folder: string): CreditSettings | null {
  const file = fileOf(folder);
  if (!existsSync(file)) return null;
  try {
    return parseAs(CreditSettings, JSON.parse(readFileSync(file, 'utf8')), file);
  } catch (error) {
    throw new TrainerError('bad_input', `${file} cannot be read: ${messageOf(error)} Delete it to go back to the rule of the run's configuration.`, { cause: error });
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
