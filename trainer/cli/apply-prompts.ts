import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import pc from 'picocolors';
import { overlayOf } from '../prompts/overlay.ts';
import { messageOf, TrainerError } from '../protocol/errors.ts';
import type { OptimizeResult } from '../protocol/optimize.ts';
import type { Prompt } from '../protocol/prompts.ts';
import { printable } from './format.ts';

/** Writes the winner's texts into the sources, after showing what changes. Nothing is written unless it is better. Throws TrainerError 'conflict' when a prompt has changed meanwhile. */
export async function applyWinner(workspace: string, prompts: readonly Prompt[], result: OptimizeResult, { ask }: { ask: boolean }): Promise<void> {
  const { stderr } = process;
  if (!result.improved) return void stderr.write('Nothing is applied: no improvement was found.\n');
  const files = overlayOf(workspace, prompts, result.best.prompts);
  for (const { path: file, text } of files) stderr.write(`\n${pc.bold(path.relative(workspace, file))}\n${changedLines(readFileSync(file, 'utf8'), text)}\n`);
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

async function agreed(): Promise<boolean> {
  if (!process.stdin.isTTY) throw new TrainerError('bad_input', 'There is nobody to ask whether to apply the winner: this is no terminal. Give --yes to apply without asking.');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question('Apply this change? [y/N] ')).trim());
  } finally {
    lines.close();
  }
}

/** What lies between the equal beginning and the equal end of two texts, line by line; prompts are one or few places of a file. */
export function changedLines(before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let head = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  const shown = (lines: string[], sign: string, color: (text: string) => string) => lines.slice(head, lines.length - tail).map((line) => color(`${sign} ${printable(line)}`));
  return [`@@ line ${head + 1}`, ...shown(old, '-', pc.red), ...shown(now, '+', pc.green)].join('\n');
}
