import assert from 'node:assert/strict';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Frame } from 'playwright-core';
import type { AttemptedRollout, Outcome } from '../../trainer/protocol/rollout.ts';
import { fromOtlp, toOtlp } from '../../trainer/protocol/otlp.ts';
import type { Run } from '../../trainer/protocol/run.ts';
import { attr, isLlmCall, spanNames } from '../../trainer/protocol/span.ts';
import type { Span } from '../../trainer/protocol/span.ts';
import { aRollout, aRun, spansOf } from '../fixtures/recorded-runs.ts';
import { ReplayTrainer } from '../fixtures/replay-trainer.ts';
import { folderWindow } from './folder-window.ts';
import { until } from './poll.ts';
import { root } from './real-vscode.ts';

/** The trace panel in a real VS Code, its trainer replaced by one that replays known values. */
describe('the trace panel in a real VS Code', function () {
  this.timeout(300_000);
  let folder = '';
  let trainer: ReplayTrainer;
  let run: Run;
  let first: AttemptedRollout;

  const { open } = folderWindow('trace', async (made) => {
    folder = made;
    cpSync(join(root, 'examples', 'sql-agent'), join(folder, 'sql-agent'), { recursive: true, filter: (path) => !path.includes('.agent-trainer') });
    run = aRun('dev', { create_time: Date.now() / 1000 });
    first = aRollout(run, 0, null);
    writeFileSync(join(folder, 'foreign.otlp.json'), JSON.stringify(toOtlp(spansOf(first, 1).map((span) => ({ ...span, rollout_id: 'elsewhere' })))));
    trainer = await ReplayTrainer.start(folder);
    trainer.tokens = {
      prompt: ['<|im_start|>', 'user', '\n', 'How', ' many', ' books', '?', '<|im_end|>'],
      response: [['SELECT', -0.02], [' COUNT', -0.31], ['(*)', -0.05], [' FROM', -0.01], [' book', -1.9], [' WHERE', -0.6], [' year', -0.2], [' >', -2.7], [' ', -0.1], ['1990', -4.2], ['<|im_end|>', -0.01]].map(([text, logprob], id) => ({ id, text: String(text), logprob: Number(logprob), advantage: id < 5 ? 0.7 : -0.4 })),
      reason: null,
    };
    return { close: () => trainer.close() };
  });

  const frame = (): Promise<Frame> => open().webview('.tree');
  const requests = (method: string): unknown[] => trainer.requests.filter((request) => request.method === method).map(({ params }) => params);
  const row = (page: Frame, kind: string, index = 0) => page.locator(`[role=treeitem][data-kind=${kind}]`).nth(index);
  const button = (page: Frame, text: string) => page.locator('vscode-button', { hasText: text });

  /** With the place in the code, a tool call, an earlier reward, and a second call with more behind it. */
  function richSpans(rollout: AttemptedRollout, reward: number): Span[] {
    const spans = spansOf(rollout, reward).map((span, at): Span => (span.name === spanNames.operation
      ? { ...span, attributes: { ...span.attributes, [attr.codeFile]: join(folder, 'sql-agent', 'agent.ts'), [attr.codeLine]: 10 + at } }
      : isLlmCall(span) ? { ...span, attributes: { ...span.attributes, [attr.callIndex]: at < 3 ? 0 : 1, [attr.responseLogprobs]: Array<number>(19).fill(-0.2) } } : span));
    const check = spans[4]!;
    const call = { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'describe_table', arguments: JSON.stringify({ table: 'book', columns: ['id', 'title', 'year'], sample: { rows: 2, ordered: true } }) } }] };
    const result = { role: 'tool', tool_call_id: 'call_1', content: JSON.stringify({ table: 'book', rows: 412, columns: { id: 'INTEGER', title: 'TEXT', year: 'INTEGER', pages: 'INTEGER' } }) };
    const messages = [...JSON.parse(String(check.attributes[attr.inputMessages])) as object[], call, result];
    spans[4] = { ...check, attributes: { ...check.attributes, [attr.inputMessages]: JSON.stringify(messages) } };
    const partial: Span = { ...spans[5]!, span_id: `${rollout.rollout_id.slice(-8)}0000000a`, sequence_id: 7, start_time: spans[1]!.end_time! + 0.02, end_time: spans[1]!.end_time! + 0.02, attributes: { [attr.rewardName]: 'syntax', [attr.rewardValue]: 0.25 } };
    return [spans[0]!, spans[1]!, partial, ...spans.slice(2)].map((span, at) => ({ ...span, sequence_id: at + 1 }));
  }

  it('shows spans as they arrive, and errors first', async () => {
    trainer.onStart = () => run;
    await open().openFile('agent.ts');
    await open().command('Agent Trainer: Dry Run Agent');
    const page = await frame();
    await until(() => requests('rollouts.list').length > 0);
    trainer.emit({ type: 'rollout', run_id: run.run_id, rollout: first });
    await row(page, 'rollout').waitFor();
    for (const [index, span] of richSpans(first, 1).entries()) {
      trainer.emit({ type: 'spans', run_id: run.run_id, spans: [span] });
      await page.locator('[role=treeitem]:not([data-kind=rollout])').nth(index).waitFor();
    }
    trainer.emit({ type: 'rollout', run_id: run.run_id, rollout: aRollout(run, 0, { outcome: 'scored', reward: 1 }) });
    const ends: ({ outcome: Outcome; reward?: number; error?: string } | null)[] = [{ outcome: 'scored', reward: 0 }, { outcome: 'timeout', error: 'The agent did not finish within 120 s and was stopped.' }, { outcome: 'scored', reward: 1 }, { outcome: 'unscored' }, null];
    for (const [index, end] of ends.entries()) {
      const rollout = aRollout(run, index + 1, end);
      trainer.emit({ type: 'rollout', run_id: run.run_id, rollout });
      if (end !== null) trainer.emit({ type: 'spans', run_id: run.run_id, spans: richSpans(rollout, end.reward ?? 0) });
    }
    await row(page, 'rollout', 5).waitFor();
    assert.match(await row(page, 'rollout').innerText(), /timed out/);
    trainer.emit({ type: 'run', run: { ...run, status: 'succeeded', phase: 'done', end_time: run.create_time + 9 } });
  });

  it('goes on with the trainer that takes the place of one that ended', async () => {
    const page = await frame();
    const { runs, rollouts, spans, tokens } = trainer;
    await trainer.close();
    trainer = await ReplayTrainer.start(folder);
    for (const [id, each] of runs) trainer.runs.set(id, each);
    for (const [id, each] of rollouts) trainer.rollouts.set(id, each.status === 'running' ? { ...each, status: 'cancelled' } : each);
    trainer.spans.push(...spans);
    trainer.tokens = tokens;
    await open().command('Agent Trainer: Stop Run'); // joins a trainer that is there
    await page.locator('[role=treeitem]', { hasText: 'cancelled' }).waitFor();
    await until(() => requests('credit.get').length > 0); // what is selected is asked of the new one
  });

  it('shows a call as chat, tool calls and JSON folded', async () => {
    const page = await frame();
    await row(page, 'llm', 1).click();
    await page.locator('.tool-call summary', { hasText: 'describe_table' }).waitFor();
    assert.equal(await page.locator('.tool-call[open]').count(), 0);
    await page.locator('.message[data-role=tool] .json summary', { hasText: '{4}' }).waitFor();
    await open().inAllThemes('trace-chat');
  });

  it('shows tokens by log-probability and by advantage', async () => {
    const page = await frame();
    await page.locator('summary', { hasText: /^Tokens$/ }).click();
    await page.locator('.token[data-tone=surprise]', { hasText: '1990' }).waitFor();
    await page.locator('label', { hasText: 'Advantage' }).locator('input[type=radio]').check();
    assert.equal(await page.locator('pre.tokens .token[data-tone=good]').count(), 5);
    assert.equal(await page.locator('pre.tokens .token[data-tone=bad]').count(), 6);
    assert.deepEqual(Object.keys(requests('tokens.get')[0] as object), ['rollout_id', 'span_id']);
    await page.locator('.tokens-section').scrollIntoViewIfNeeded();
    await open().inAllThemes('trace-tokens');
  });

  it('shows what a reward credits, and changes rule and link without a new rollout', async () => {
    const page = await frame();
    const started = requests('runs.start').length;
    await row(page, 'reward', 0).click();
    await page.locator('h2', { hasText: 'Credit' }).waitFor();
    assert.equal(await page.locator('.badge', { hasText: '+1.000' }).count(), 2, 'the final reward, on both calls');
    await page.locator('select[aria-label="Credit rule"]').selectOption('per_step');
    await page.locator('.badge', { hasText: '+0.250' }).waitFor();
    await page.locator('.row.credited').waitFor();
    assert.equal(await page.locator('.calls input:checked').count(), 1);
    await page.locator('.calls input').nth(1).check();
    await page.locator('.badge', { hasText: '+1.250' }).waitFor();
    await open().inAllThemes('trace-credit');
    assert.equal(requests('runs.start').length, started);
    await button(page, 'Link as the rule does').click();
    await until(async () => await page.locator('.calls input:checked').count() === 1);
  });

  it('searches in what was said, and filters', async () => {
    const page = await frame();
    await page.locator('input[type=search]').fill('describe_table');
    await until(async () => await page.locator('[role=treeitem][data-kind=reward]').count() === 0);
    await row(page, 'llm').waitFor();
    await button(page, 'Clear').click();
    await page.locator('select[aria-label=Status]').selectOption('errors');
    await until(async () => await page.locator('[role=treeitem][data-kind=rollout]').count() === 1);
    await page.locator('select[aria-label=Status]').selectOption('any');
    await page.locator('input[aria-label="Reward from"]').fill('0.5');
    await until(async () => await page.locator('[role=treeitem][data-kind=rollout]').count() === 2);
    await button(page, 'Clear').click();
    await until(async () => await page.locator('[role=treeitem][data-kind=rollout]').count() === 6);
  });

  it('obeys the keyboard', async () => {
    const page = await frame();
    const { keyboard } = open().page;
    await page.locator('[role=treeitem][tabindex="0"]').focus();
    await keyboard.press('Home');
    await keyboard.press('ArrowDown');
    await until(async () => /No|How|List|Which|What|Name/.test(await page.locator('.detail h1').innerText()));
    assert.equal(await page.locator('[role=treeitem][tabindex="0"]').count(), 1);
    await keyboard.press('Home');
    await page.locator('.detail', { hasText: 'did not finish within 120 s' }).waitFor();
  });

  it('goes to the source line of a span, and copies a call as cURL', async () => {
    const page = await frame();
    await row(page, 'llm', 1).click();
    await button(page, 'Copy as cURL').click();
    await open().page.locator('.statusbar-item', { hasText: 'Copied' }).waitFor();
    await button(page, 'Go to agent.ts:13').click();
    await open().page.locator('.statusbar-item', { hasText: /Ln 13/ }).waitFor();
  });

  it('replays from a call with a changed message, beside the old attempt', async () => {
    const page = await frame();
    const replayRun: Run = { ...run, run_id: 'ru-replay', create_time: run.create_time + 20, config: { replay_of: { run_id: run.run_id } } };
    trainer.onStart = () => replayRun;
    await row(page, 'llm', 1).click();
    await button(page, 'Replay from here').click();
    const field = page.locator('textarea').last();
    await field.fill('{"table":"book","rows":0}');
    await open().screenshot('trace-replay-edit');
    await button(page, 'Run from here').click();
    await until(() => requests('events.subscribe').some((params) => (params as { run_id?: string }).run_id === 'ru-replay'));
    const { replay } = requests('runs.start').at(-1) as { replay: { rollout_id: string; call_index: number; edits: { index: number; message: { role: string; content: string } }[] } };
    assert.equal(replay.call_index, 1);
    assert.deepEqual(replay.edits.map(({ index, message }) => [index, message.role, message.content]), [[3, 'tool', '{"table":"book","rows":0}']]);
    const made = aRollout(replayRun, 50, { outcome: 'scored', reward: 0.5 }, { metadata: { replay_of: { rollout_id: replay.rollout_id } } });
    trainer.emit({ type: 'rollout', run_id: 'ru-replay', rollout: { ...made, status: 'running' } });
    trainer.emit({ type: 'spans', run_id: 'ru-replay', spans: richSpans(made, 0.5).map((span, at) => (at < 3 ? { ...span, attributes: { ...span.attributes, [attr.replayed]: true } } : span)) });
    trainer.emit({ type: 'rollout', run_id: 'ru-replay', rollout: made });
    await page.locator('[role=treeitem][data-kind=rollout]', { hasText: 'Replay:' }).waitFor();
  });

  it('compares two attempts side by side', async () => {
    const page = await frame();
    await page.locator('[role=treeitem][data-kind=rollout]', { hasText: 'Replay:' }).click();
    await button(page, 'Compare with').click();
    await open().page.locator('.quick-input-titlebar', { hasText: 'Compare with which attempt?' }).waitFor();
    await open().page.locator('.quick-input-list .monaco-list-row.focused', { hasText: 'How many books' }).waitFor();
    await open().screenshot('trace-compare-with');
    await open().page.keyboard.press('Enter');
    await page.locator('.comparison-row.differs').first().waitFor();
    assert.match(await page.locator('.comparison-row.heads').innerText(), new RegExp(first.rollout_id), 'what it continues is the first choice');
    assert.match(await page.locator('.comparison-head').innerText(), /\d of \d+ steps differ/);
    await open().inAllThemes('trace-comparison');
    await button(page, 'Close').click();
    await page.locator('.tree').waitFor();
  });

  it('exports OTLP JSON that can be opened again, and opens a file without a trainer', async () => {
    const page = await frame();
    await button(page, 'Export…').first().click();
    const name = open().page.locator('.quick-input-widget input[type=text]');
    await until(async () => (await name.inputValue()).endsWith(`${run.run_id}.otlp.json`)); // the dialog has put its proposal in
    await name.fill(join(folder, 'out.otlp.json'));
    await until(async () => await name.inputValue() === join(folder, 'out.otlp.json'));
    await open().page.keyboard.press('Enter');
    await until(() => { try { return readFileSync(join(folder, 'out.otlp.json'), 'utf8').length > 0; } catch { return false; } });
    const spans = fromOtlp(readFileSync(join(folder, 'out.otlp.json'), 'utf8'), 'out');
    assert.equal(spans.filter((span) => span.rollout_id === first.rollout_id).length, 7);
    await open().command('Agent Trainer: Open Trace File (OTLP JSON)…');
    await open().page.locator('.quick-input-list .monaco-list-row').filter({ hasText: 'agent-trainer.json' }).waitFor(); // the dialog has put its folder in
    await open().page.locator('.quick-input-widget input[type=text]').fill(join(folder, 'foreign.otlp.json'));
    await open().page.locator('.quick-input-list .monaco-list-row').filter({ hasText: 'foreign.otlp.json' }).waitFor();
    await open().page.keyboard.press('Enter');
    await page.locator('.status-text', { hasText: '1 trace, 6 spans' }).waitFor();
    await row(page, 'llm').click();
    await page.locator('.message[data-role=assistant]', { hasText: 'SELECT COUNT(*)' }).waitFor();
    assert.equal(await button(page, 'Replay from here').count(), 0);
    await open().screenshot('trace-file');
  });

});
