import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folderWindow } from './folder-window.ts';
import { until } from './poll.ts';

const assistant = `"""A small assistant."""
from openai import OpenAI

client = OpenAI()


def answer(task: dict, temperature: float = 0.2) -> float:
    """Answers one question and scores the answer."""
    response = client.chat.completions.create(
        model="gpt-4o",  # the large one
        messages=[{"role": "user", "content": task["question"]}],
        temperature=temperature,
    )
    reply = response.choices[0].message.content
    return float(task["answer"] in reply)
`;

const grader = `from agent_trainer import emit_reward, rollout

from chat import ask


@rollout
def grade(task, llm):
    hint = f"It is {task['answer']}."
    reply = ask(llm, [{"role": "user", "content": task["question"] + hint}])
    reward = float(task["answer"] in reply)
    emit_reward(reward)
    return reward
`;

describe('making a function trainable and mending agents, in a real VS Code', function () {
  this.timeout(300_000);
  let folder = '';

  const { open } = folderWindow('wrap', (made) => {
    folder = made;
    writeFileSync(join(folder, 'assistant.py'), assistant);
    writeFileSync(join(folder, 'grader.py'), grader);
    return {};
  });

  const lens = (text: string) => open().page.locator('.editor-instance .codelens-decoration a', { hasText: text }).first();
  /** In the title of the preview: its message goes away after a while. */
  const previewButton = (text: 'Apply' | 'Discard') => open().page.locator(`.editor-actions .action-label[aria-label^="${text} Change"]`);
  /** What is on disk once it is what is expected; the editor saves on the command. */
  const saved = async (name: string, isRight: (text: string) => boolean): Promise<string> => {
    await open().command('File: Save');
    await until(() => isRight(readFileSync(join(folder, name), 'utf8')));
    return readFileSync(join(folder, name), 'utf8');
  };

  async function codeAction(title: string): Promise<void> {
    const action = open().page.locator('.action-widget .monaco-list-row', { hasText: title }).first();
    await until(async () => {
      await open().page.keyboard.press('Control+1'); // the focus may be elsewhere
      await open().page.keyboard.press('Control+.');
      return action.waitFor({ timeout: 5000 }).then(() => true, async () => {
        await open().page.keyboard.press('Escape');
        return false;
      });
    }, 60_000);
    await action.click();
  }

  async function goToLine(line: number): Promise<void> {
    await open().page.keyboard.press('Control+g');
    await open().page.locator('.quick-input-widget input[type=text]').fill(`:${line}`);
    await open().page.keyboard.press('Enter');
  }

  it('the lens shows what would change, and Apply changes it', async () => {
    await open().openFile('assistant.py');
    await lens('Make trainable').waitFor({ timeout: 60_000 });
    await open().inAllThemes('make-trainable-lens');
    await open().clickUntil(lens('Make trainable'), previewButton('Apply'));
    await open().page.locator('.monaco-diff-editor .line-insert').first().waitFor();
    await open().inAllThemes('make-trainable-preview');
    await previewButton('Apply').click();
    await lens('Dry run').waitFor({ timeout: 60_000 });
    const text = await saved('assistant.py', (each) => each !== assistant);
    assert.match(text, /@rollout\ndef answer\(task: dict, temperature: float = 0\.2, \*, llm: LLM\) -> float:/);
    assert.match(text, /client\.with_options\(base_url=llm\.endpoint, api_key=llm\.api_key\)\.chat/);
    await open().screenshot('make-trainable-applied');
  });

  it('one undo takes all of it back', async () => {
    await open().page.locator('.editor-instance .view-lines').first().click();
    await open().page.keyboard.press('Control+z');
    await lens('Make trainable').waitFor({ timeout: 60_000 });
    assert.equal(await saved('assistant.py', (each) => each === assistant), assistant);
  });

  it('Discard changes nothing', async () => {
    await open().clickUntil(lens('Make trainable'), previewButton('Discard'));
    await previewButton('Discard').click();
    await open().page.locator('.monaco-diff-editor').first().waitFor({ state: 'detached' });
    assert.equal(readFileSync(join(folder, 'assistant.py'), 'utf8'), assistant);
  });

  it('the code action does the same, and its counterpart gives back every byte', async () => {
    await open().openFile('assistant.py');
    await goToLine(9);
    await codeAction('Make answer trainable');
    await previewButton('Apply').click({ timeout: 30_000 });
    await lens('Dry run').waitFor({ timeout: 60_000 });
    await saved('assistant.py', (each) => each.includes('@rollout'));
    await goToLine(10);
    await codeAction('Make answer not trainable');
    await lens('Make trainable').waitFor({ timeout: 60_000 });
    assert.equal(await saved('assistant.py', (each) => each === assistant), assistant);
  });

  it('shows what is wrong with an agent, and the quick fix mends it', async () => {
    await open().openFile('grader.py');
    await open().page.locator('.editor-instance .squiggly-warning').nth(1).waitFor({ timeout: 60_000 });
    await open().command('Problems: Focus on Problems View');
    const problems = open().page.locator('.markers-panel');
    await problems.getByText('This reward is emitted and returned').waitFor();
    await problems.getByText('reaches the prompt').waitFor();
    await open().inAllThemes('agent-problems');
    await open().openFile('grader.py');
    await goToLine(11);
    await codeAction('Remove the emitted reward');
    assert.equal(await saved('grader.py', (each) => each !== grader), grader.replace('    emit_reward(reward)\n', ''));
    await problems.getByText('This reward is emitted and returned').waitFor({ state: 'detached', timeout: 30_000 });
    await open().screenshot('agent-problems-mended');
  });
});
