import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import pc from 'picocolors';
import { overlayOf } from '../prompts/overlay.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { OptimizeResult } from '../protocol/optimize.ts';
import type { Prompt } from '../protocol/prompts.ts';
import { printable } from './format.ts';
import { lineDiff } from './line-diff.ts';

/** Writes the winner's texts into the sources, after showing what changes. Nothing is written unless it is better. Throws TrainerError 'conflict' when a prompt has changed meanwhile. */
export async function applyWinner(workspace: string, prompts: readonly Prompt[], result: OptimizeResult, { ask }: { ask: boolean }): Promise<void> {
  const { stderr } = process;
  if (!result.improved) return void stderr.write('Nothing is applied: no improvement was found.\n');
  const files = overlayOf(workspace, prompts, result.best.prompts);
  for (const { path: file, text } of files) stderr.write(`\n${pc.bold(path.relative(workspace, file))}\n${lineDiff(readFileSync(file, 'utf8'), text).map(coloured).join('\n')}\n`);
  if (ask && !(await agreed())) return void stderr.write('Nothing is applied.\n');
  for (const { path: file, text } of files) {
    try {
      writeFileSync(file, text);
    } catch (error) {
      throw new TrainerError('environment', `${file} cannot be written: ${messageOf(error)}.`, { cause: error });
    }
  }
  stderr.write(`Applied to ${files.map(({ path: file }) => path.relative(workspace, file)).join(', ')}.\n`);
}

/** Throws TrainerError 'bad_input' when nobody can be asked: before a search, not after hours of it. */
export function requireSomebodyToAsk(): void {
  if (!process.stdin.isTTY) throw new TrainerError('bad_input', 'There is nobody to ask whether to apply the winner: this is no terminal. Give --yes to apply without asking.');
}

async function agreed(): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question('Apply this change? [y/N] ')).trim());
  } finally {
    lines.close();
  }
}

function coloured(line: string): string {
  const color = line.startsWith('-') ? pc.red : line.startsWith('+') ? pc.green : pc.dim;
  return color(printable(line));
}
