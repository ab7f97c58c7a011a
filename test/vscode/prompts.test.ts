import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Frame, Locator } from 'playwright-core';
import type { Candidate } from '../../trainer/protocol/optimize.ts';
import { RpcRequest } from '../../trainer/protocol/rpc.ts';
import { aCandidate, aCost, aPrompt, aResult, aSearch, aSearchRun, candidates, roomAgent, roomPrompt } from '../fixtures/recorded-search.ts';
import { aRollout, spansOf } from '../fixtures/recorded-runs.ts';
import { ReplayTrainer } from '../fixtures/replay-trainer.ts';
import { folderWindow } from './folder-window.ts';
import { until } from './poll.ts';

const id = 'agent.py#PICK';
const run = aSearchRun({ create_time: Date.now() / 1000 - 120 });
const best = candidates.best.texts[id] ?? '';

/** An agent with a prompt in its source and one in a file of its own. */
const guide = `from pathlib import Path
from openai import OpenAI
from agent_trainer import rollout

client = OpenAI()
RULES = "Answer in one sentence."
TONE = Path("prompts/tone.md").read_text()


@rollout
def guide(task, llm):
    reply = client.chat.completions.create(model=llm.model, messages=[{"role": "system", "content": RULES}, {"role": "system", "content": TONE}, {"role": "user", "content": task["question"]}])
    return float(task["answer"] in reply.choices[0].message.content)
`;

/** The prompt-tuning panel, the lenses over prompts and applying, in a real VS Code with a trainer that replays known values. */
describe('prompts in a real VS Code', function () {
  this.timeout(300_000);
  let folder = '';
  let trainer: ReplayTrainer;

  const { open } = folderWindow('prompts', async (made) => {
    folder = made;
    for (const name of ['prompts', '.vscode']) mkdirSync(join(folder, name));
    writeFileSync(join(folder, '.vscode', 'settings.json'), JSON.stringify({ 'files.autoSave': 'afterDelay', 'files.autoSaveDelay': 100 }));
    const files = { 'agent.py': roomAgent, 'guide.py': guide, 'prompts/tone.md': 'Be friendly.\n', 'tasks.jsonl': '{"request": "A room for two", "room": "Ash"}\n', 'agent-trainer.json': JSON.stringify({ agent: 'agent.py:pick_room', data: { train: 'tasks.jsonl' }, model: { path: 'policy' } }) };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    trainer = await ReplayTrainer.start(folder);
    return { close: () => trainer.close() };
  });

  const panel = (): Promise<Frame> => open().webview('.agent-choice');
  const lens = (text: string | RegExp): Locator => open().page.locator('.editor-instance .codelens-decoration a', { hasText: text }).first();
  const toast = (text: string): Locator => open().page.locator('.notification-list-item', { hasText: text }).first();
  const row = (frame: Frame, candidate_id: string): Locator => frame.locator(`[data-candidate=${candidate_id}]`);
  const button = (frame: Frame, text: string): Locator => frame.locator('vscode-button', { hasText: text }).first();
  const asked = (method: string) => trainer.requests.filter((request) => request.method === method).map((request) => RpcRequest.parse({ id: 0, ...request }).params);
  const onDisk = (name: string): string => readFileSync(join(folder, name), 'utf8');
  const show = (candidate: Candidate, leading = 'c0'): void => { trainer.emit({ type: 'candidate', run_id: run.run_id, candidate, best: leading, spent: candidate.spent }); };

  /** The editor saves by itself. */
  const saved = (name: string, isRight: (text: string) => boolean): Promise<void> => until(() => isRight(onDisk(name)));

  /** Changes the agent outside of the editor, until the editor has seen it. */
  async function edited(text: string, seen: string): Promise<void> {
    await until(() => {
      writeFileSync(join(folder, 'agent.py'), text);
      return lens(seen).waitFor({ timeout: 5000 }).then(() => true, () => false);
    }, 60_000);
  }

  async function apply(): Promise<void> {
    await open().page.locator('.monaco-diff-editor .line-insert').first().waitFor({ timeout: 60_000 });
    await open().page.locator('.editor-actions .action-label[aria-label^="Apply Change"]').click();
    await open().page.locator('.monaco-diff-editor .line-insert').first().waitFor({ state: 'hidden' });
  }

  it('the lens over a prompt opens the set-up of a search, with every default in sight', async () => {
    await open().openFile('agent.py');
    await lens('Optimize prompt').click({ timeout: 60_000 });
    const frame = await panel();
    await frame.locator('.prompt-text .variable', { hasText: '{request}' }).waitFor();
    await frame.locator('.chosen-value', { hasText: 'tasks.jsonl' }).waitFor();
    assert.equal(await frame.locator('.setup input[type=number]').first().inputValue(), '200');
    assert.equal(await frame.locator('#algorithm').inputValue(), 'gepa');
    await frame.locator('summary', { hasText: 'More settings' }).click();
    await open().inAllThemes('prompts-setup');
  });

  it('the set-up follows what is chosen, and says what is missing', async () => {
    const frame = await panel();
    await frame.locator('#algorithm').selectOption('apo');
    await frame.locator('label', { hasText: 'Beam width' }).locator('input').fill('2');
    await frame.locator('label', { hasText: 'Rollouts' }).locator('input').fill('');
    await frame.locator('label', { hasText: 'Minutes' }).locator('input').focus();
    await frame.locator('#setup-problem', { hasText: 'Set at least one limit' }).waitFor();
    assert.notEqual(await button(frame, 'Start search').getAttribute('disabled'), null);
    await frame.locator('label', { hasText: 'Rollouts' }).locator('input').fill('200');
    await frame.locator('label', { hasText: 'Minutes' }).locator('input').focus();
    await frame.locator('#setup-problem', { hasText: /^$/ }).waitFor({ state: 'attached' });
  });

  it('starts the search that was set up', async () => {
    const frame = await panel();
    trainer.onStart = () => run;
    await button(frame, 'Start search').click();
    await frame.locator('.run-header h1', { hasText: 'agent.py:pick_room' }).waitFor();
    const [request] = asked('runs.start') as { optimize: { apo: object; algorithm: string; budget: object } }[];
    const { optimize, ...rest } = request ?? assert.fail('nothing was started');
    assert.deepEqual(rest, { kind: 'optimize', agent: 'agent.py:pick_room', data: join(folder, 'tasks.jsonl'), seed: 0 });
    assert.deepEqual([optimize.algorithm, optimize.budget], ['apo', { rollouts: 200 }]);
    assert.equal((optimize.apo as { beam_width: number }).beam_width, 2);
  });

  it('candidates appear as they come, each below the one it came from', async () => {
    const frame = await panel();
    trainer.searches.set(run.run_id, aSearch({ candidates: [candidates.original], best: 'c0', spent: aCost(8) }));
    show(candidates.original);
    await row(frame, 'c0').waitFor();
    for (const candidate of [candidates.seats, candidates.rejected, candidates.dropped]) show(candidate, 'c1');
    show(candidates.best, 'c4');
    show(candidates.merged, 'c4');
    await row(frame, 'c5').waitFor();
    assert.deepEqual(await frame.locator('[role=treeitem]').evaluateAll((rows) => rows.map((each) => { const { dataset, ariaLevel } = each as unknown as { dataset: Record<string, string>; ariaLevel: string }; return `${ariaLevel} ${dataset['candidate']}`; })), ['1 c0', '2 c1', '3 c4', '3 c5', '2 c2', '2 c3']);
    assert.match(await row(frame, 'c4').innerText(), /Candidate 4[\s\S]*\+2\s*−0[\s\S]*0\.857/);
    await frame.locator('.cost-chart[data-points="4"] canvas').waitFor();
    await frame.locator('.limit', { hasText: '84 of 200 rollouts' }).waitFor();
    await lens('Optimizing: 84 of 200 rollouts · best 0.86').waitFor();
    await open().inAllThemes('prompts-running');
  });

  it('says on hover and on focus why a candidate is what it is, and is walked by keys', async () => {
    const frame = await panel();
    await row(frame, 'c2').hover();
    await frame.locator('[role=tooltip]', { hasText: 'Rejected: The variable {request} is gone' }).waitFor();
    await row(frame, 'c0').click();
    await row(frame, 'c0').press('ArrowDown');
    await frame.locator('[data-candidate=c1][aria-selected=true]').waitFor();
    await frame.locator('[role=tooltip]', { hasText: 'Rooms that are too small' }).waitFor();
    assert.equal(await row(frame, 'c1').getAttribute('aria-describedby'), 'candidate-hint');
    await open().screenshot('prompts-critique');
    await row(frame, 'c1').press('ArrowRight');
    await frame.locator('.candidate-detail h2', { hasText: 'Candidate 4' }).waitFor();
    assert.ok(await row(frame, 'c4').evaluate((element) => element === element.ownerDocument.activeElement));
    await row(frame, 'c4').press('Escape');
    await frame.locator('[role=tooltip]').waitFor({ state: 'hidden' });
    await row(frame, 'c4').press('End');
    await frame.locator('.candidate-detail h2', { hasText: 'Candidate 3' }).waitFor();
    await row(frame, 'c4').click();
  });

  it('shows word by word what a candidate changes, against the source or its parent', async () => {
    const frame = await panel();
    await frame.locator('.diff ins', { hasText: 'for a group of people' }).waitFor();
    assert.equal(await frame.locator('.diff del').count(), 0);
    await frame.locator('select[aria-label="Compare with"]').selectOption('parent');
    await frame.locator('.diff del', { hasText: 'that seats everyone' }).waitFor();
    await frame.locator('select[aria-label="Compare with"]').selectOption('source');
  });

  it('shows which tasks a candidate wins, and opens the trace of one', async () => {
    const frame = await panel();
    assert.deepEqual(await frame.locator('tr[data-change]').evaluateAll((rows) => rows.map((each) => (each as unknown as { dataset: Record<string, string> }).dataset['change'])), ['won', 'won', 'same', 'same', 'same', 'same', 'same', 'open']);
    await frame.locator('.filter', { hasText: 'Better' }).click();
    await until(async () => await frame.locator('tr[data-change]').count() === 2);
    const rollout = aRollout(run, 1, { outcome: 'scored', reward: 1 }, { rollout_id: 'ro-c4-v1', task_id: 'v1' });
    trainer.rollouts.set('ro-c4-v1', { ...rollout, attempt: rollout.attempt === null ? null : { ...rollout.attempt, rollout_id: 'ro-c4-v1' } });
    trainer.spans.push(...spansOf(trainer.rollouts.get('ro-c4-v1') ?? assert.fail(), 1));
    await frame.locator('tr[data-change=won] button').first().click();
    const trace = await open().webview('.tree');
    await trace.locator('[data-kind=llm]').first().waitFor();
    await frame.locator('.filter', { hasText: 'All' }).click();
    await open().page.locator('.tab', { hasText: 'agent.py' }).first().click();
  });

  it('pins a candidate, pauses, resumes and finishes the search', async () => {
    const frame = await panel();
    await button(frame, 'Pin').click();
    await row(frame, 'c4').locator('[data-mark=pin]').waitFor();
    await button(frame, 'Unpin').waitFor();
    await button(frame, 'Pause').click();
    await frame.locator('.status-text', { hasText: 'Paused' }).waitFor();
    await button(frame, 'Resume').click();
    await button(frame, 'Pause').waitFor();
    await button(frame, 'Finish now').click();
    await frame.locator('.status-text', { hasText: 'Measuring held-out tasks' }).waitFor();
    assert.deepEqual(['optimize.pin', 'runs.pause', 'runs.resume', 'optimize.finish'].map((method) => asked(method).length), [1, 1, 1, 1]);
  });

  it('a text written by hand is scored, and what is wrong with it is said beside it', async () => {
    const frame = await panel();
    trainer.onAdd = ({ parent, texts }) => {
      const text = texts[id] ?? '';
      if (!text.includes('{request}')) throw new Error('The variable {request} is missing.');
      return aCandidate('h1', text, [], { parents: [parent], origin: 'hand', status: 'proposed', spent: aCost(86) });
    };
    await button(frame, 'Edit…').click();
    const area = frame.locator('textarea');
    await area.fill('Pick any room.');
    await button(frame, 'Score it').click();
    await frame.locator('#edit-problem', { hasText: 'The variable {request} is missing' }).waitFor();
    assert.equal(await area.inputValue(), 'Pick any room.');
    await open().screenshot('prompts-edit');
    await area.fill('Pick a room for {request}.');
    await button(frame, 'Score it').click();
    await frame.locator('[data-candidate=h1][aria-selected=true]').waitFor();
    await frame.locator('.candidate-detail h2', { hasText: 'By hand 1' }).waitFor();
    assert.deepEqual((asked('optimize.add').at(-1) as { parent: string }).parent, 'c4');
  });

  it('the end says how much better, and the lens leads to what changes', async () => {
    trainer.emit({ type: 'run', run: { ...run, status: 'succeeded', phase: 'done', result: aResult(), end_time: Date.now() / 1000 } });
    const frame = await panel();
    await frame.locator('.verdict[data-tone=good]', { hasText: '0.550 → 0.810' }).waitFor();
    await frame.locator('.history li', { hasText: '0.55 → 0.81' }).waitFor();
    await open().clickUntil(lens('0.55 → 0.81 · Review'), frame.locator('[data-candidate=c4][aria-selected=true]'));
    await open().inAllThemes('prompts-done');
  });

  it('applies a text after a diff, in one undo step', async () => {
    const frame = await panel();
    await button(frame, 'Apply').click();
    await open().page.locator('.monaco-diff-editor .line-insert').first().waitFor();
    await open().inAllThemes('prompts-apply');
    await apply();
    await saved('agent.py', (text) => text !== roomAgent);
    assert.equal(onDisk('agent.py'), roomAgent.replace(roomPrompt, best));
    await frame.locator('[data-candidate=c4] [data-mark=source]').waitFor();
    await lens('Optimize (0.81)').waitFor();
    await open().page.locator('.editor-instance .view-lines').first().click();
    await open().page.keyboard.press('Control+z');
    await saved('agent.py', (text) => text === roomAgent);
    await lens('0.55 → 0.81 · Review').waitFor();
  });

  it('an earlier text comes back from the history', async () => {
    const frame = await panel();
    await frame.locator('.history-actions button', { hasText: 'Apply best' }).click();
    await apply();
    await saved('agent.py', (text) => text.includes('group of people'));
    await frame.locator('.history-actions button', { hasText: 'Restore original' }).click();
    await apply();
    await saved('agent.py', (text) => text === roomAgent);
  });

  it('leaves a prompt alone that was edited by hand, and offers to show the difference', async () => {
    const frame = await panel();
    await edited(roomAgent.replace('one room', 'exactly one room'), 'Optimize prompt');
    await button(frame, 'Apply').click();
    await toast('PICK was edited by hand').locator('.monaco-button', { hasText: 'Show difference' }).click();
    await open().page.locator('.tab', { hasText: 'PICK: source and candidate' }).waitFor();
    assert.match(onDisk('agent.py'), /exactly one room/);
    await open().openFile('agent.py');
    await edited(roomAgent, '0.55 → 0.81 · Review');
  });

  it('says when no improvement was found, and when a search ended without a report', async () => {
    const frame = await panel();
    const chance = aResult({ improved: false, best: { ...aResult().best, score: 0.57 }, difference: { mean: 0.02, ci95: [-0.05, 0.09], p_value: 0.4 } });
    trainer.emit({ type: 'run', run: { ...run, status: 'succeeded', phase: 'done', result: chance, end_time: Date.now() / 1000 } });
    await frame.locator('.verdict[data-tone=none]', { hasText: 'could be chance' }).waitFor();
    await lens('Optimize (0.55)').waitFor();
    await open().screenshot('prompts-no-improvement');
    trainer.emit({ type: 'run', run: { ...run, status: 'failed', phase: 'done', error: 'The model server at http://127.0.0.1:9 does not answer. Start it and resume the search.', end_time: Date.now() / 1000 } });
    await frame.locator('.callout.error', { hasText: 'does not answer' }).waitFor();
    await frame.locator('.verdict[data-tone=odd]', { hasText: 'Ended without a report' }).waitFor();
    await button(frame, 'Resume').waitFor();
    await open().screenshot('prompts-failed');
    trainer.emit({ type: 'run', run: { ...run, status: 'succeeded', phase: 'done', result: aResult(), end_time: Date.now() / 1000 } });
  });

  it('several prompts in several files are applied together', async () => {
    const [rules, tone] = ['guide.py#RULES', 'prompts/tone.md'];
    const prompts = [
      aPrompt({ prompt_id: rules, name: 'RULES', file: 'guide.py', text: 'Answer in one sentence.', engine: 'none', variables: [], agents: ['guide.py:guide'] }),
      aPrompt({ prompt_id: tone, name: 'tone.md', file: tone, syntax: 'file', text: 'Be friendly.\n', engine: 'none', variables: [], agents: ['guide.py:guide'] }),
    ];
    const both = { ...run, run_id: 'ru-b07hb07hb07h', agent: 'guide.py:guide', status: 'succeeded' as const, phase: 'done' as const, create_time: run.create_time + 60 };
    const texts = { [rules]: 'Answer in one short sentence.', [tone]: 'Be friendly, and brief.\n' };
    const original = { ...candidates.original, texts: { [rules]: 'Answer in one sentence.', [tone]: 'Be friendly.\n' } };
    trainer.searches.set(both.run_id, aSearch({ run_id: both.run_id, prompts, candidates: [original, { ...candidates.best, parents: ['c0'], texts }] }));
    trainer.emit({ type: 'run', run: { ...both, result: aResult({ run_id: both.run_id, best: { ...aResult().best, prompts: texts } }) } });
    await open().page.locator('.activitybar .action-label[aria-label^="Agent Trainer"]').click();
    await open().page.locator('.sidebar .monaco-list-row', { hasText: /guide.*prompt search · 0\.55 → 0\.81/ }).click();
    const frame = await panel();
    await frame.locator('.candidate-text').nth(1).waitFor();
    assert.equal(await frame.locator('.agent-choice select').evaluate((element) => (element as unknown as { selectedOptions: { textContent: string }[] }).selectedOptions[0]?.textContent), 'guide');
    await open().screenshot('prompts-several');
    await button(frame, 'Apply').click();
    const preview = open().page.locator('.tab', { hasText: 'What would change' });
    await preview.waitFor();
    await until(async () => await open().page.locator('.multiDiffEntry .line-insert').count() >= 2, 60_000);
    await open().screenshot('prompts-apply-several');
    await toast('these 2 prompts').locator('.monaco-button', { hasText: 'Apply' }).click();
    await preview.waitFor({ state: 'detached' });
    await saved('prompts/tone.md', (text) => text === texts[tone]);
    await until(() => onDisk('guide.py') === guide.replace('Answer in one sentence.', texts[rules] ?? ''));
    await open().openFile('tone.md');
    await lens('Optimize (0.81)').waitFor();
  });

  it('opens wide in an editor tab', async () => {
    await open().command('Agent Trainer: Open Prompts in an Editor Tab');
    await open().page.locator('.tab', { hasText: 'Prompts' }).waitFor();
    await open().webview('body:not(.in-side-bar) .search-tree');
    await open().inAllThemes('prompts-wide');
  });
});
