import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { translations } from '../../../scripts/l10n.ts';
import { packRows } from '../../../trainer/protocol/span-batch.ts';
import { runHeader } from '../../../src/views/run-header.ts';
import { rolloutHead } from '../../../src/views/rollout-view.ts';
import { spanRow } from '../../../src/views/span-row.ts';
import { aRollout, aRun, spansOf } from '../../fixtures/recorded-runs.ts';
import { openTracePage, traceMessages, type TracePage } from '../../fixtures/trace-page.ts';

const chromium = '/usr/bin/chromium';

/** The page's own bundle in a browser: what holds however long the trace is. */
describe('the trace page in a browser', function () {
  this.timeout(60_000);
  let page: TracePage | undefined;

  before(async function () {
    if (!existsSync(chromium)) {
      console.log(`    skipped: there is no ${chromium}`);
      return this.skip();
    }
    page = await openTracePage(chromium);
  });
  after(() => page?.close());

  const open = (): TracePage => page ?? assert.fail('no page');
  const selected = (): Promise<string> => open().page.locator('[role=treeitem][aria-selected=true]').innerText();
  const count = 20_000;

  it('holds a bounded number of rows for any number of spans', async () => {
    await open().open(traceMessages(count).make());
    const { lines, elements } = await open().rowCount();
    assert.equal(lines, count);
    assert.ok(elements > 10 && elements < 80, `${elements} rows`);
  });

  it('uses its rows again while it scrolls, and gets to the end', async () => {
    await open().page.evaluate("document.querySelector('.tree').scrollTop = 1e9");
    await open().page.waitForFunction(`[...document.querySelectorAll('[role=treeitem]')].some((row) => Number(row.getAttribute('aria-posinset')) > 0 && row.getBoundingClientRect().top > 0 && row.offsetTop >= 0)`);
    await open().page.locator('[role=treeitem]').last().waitFor();
    const { elements } = await open().rowCount();
    assert.ok(elements < 80, `${elements} rows`);
    const order = await open().page.evaluate<number[]>("[...document.querySelectorAll('[role=treeitem]')].map((row) => row.getBoundingClientRect().top)");
    assert.deepEqual(order, [...order].sort((a, b) => a - b), 'rows stand in the document as they stand on the screen');
  });

  it('keeps one tab stop, and focus on the selection, even out of sight', async () => {
    const { keyboard } = open().page;
    await open().page.locator('[role=treeitem][tabindex="0"]').focus();
    await keyboard.press('End');
    const last = await selected();
    await open().page.evaluate("document.querySelector('.tree').scrollTop = 0");
    await open().page.waitForFunction("document.querySelector('.tree').scrollTop === 0");
    await keyboard.press('ArrowUp');
    await keyboard.press('ArrowDown');
    assert.equal(await selected(), last);
    assert.equal(await open().page.locator('[role=treeitem][tabindex="0"]').count(), 1);
    assert.equal(await open().page.evaluate("document.activeElement.getAttribute('aria-selected')"), 'true');
    await keyboard.press('Home');
    assert.equal(await open().page.evaluate("document.activeElement.getAttribute('aria-level')"), '1');
  });

  it('folds and goes up and down with the arrows', async () => {
    const { keyboard } = open().page;
    await keyboard.press('ArrowRight');
    assert.equal(await open().page.evaluate("document.activeElement.getAttribute('aria-level')"), '2');
    await keyboard.press('ArrowLeft');
    assert.equal(await open().page.evaluate("document.activeElement.getAttribute('aria-expanded')"), 'false');
    const before = (await open().rowCount()).lines;
    await keyboard.press('ArrowRight');
    assert.equal((await open().rowCount()).lines, before + 1);
  });

  it('takes live spans without moving selection, focus or scrolling', async () => {
    const where = (): Promise<unknown> => open().page.evaluate("[document.activeElement.dataset.key, document.querySelector('.tree').scrollTop]");
    const before = await where();
    const lines = (await open().rowCount()).lines;
    for (const batch of traceMessages(count).live(600)) for (const text of batch) await open().post(JSON.parse(text) as Parameters<TracePage['post']>[0]);
    await open().page.waitForFunction(`Math.round(document.querySelector('.tree .canvas').offsetHeight / Number.parseFloat(getComputedStyle(document.querySelector('.tree')).getPropertyValue('--row'))) >= ${lines + 600}`);
    assert.deepEqual(await where(), before);
    assert.ok((await open().rowCount()).elements < 80);
  });

  it('keeps focus on the same line when everything is sent anew', async () => {
    await open().page.keyboard.press('ArrowDown');
    const key = await open().page.evaluate('document.activeElement.dataset.key');
    const [, spans] = traceMessages(count).make();
    await open().post(JSON.parse(spans!) as Parameters<TracePage['post']>[0]);
    await open().page.waitForFunction(`Math.round(document.querySelector('.tree .canvas').offsetHeight / Number.parseFloat(getComputedStyle(document.querySelector('.tree')).getPropertyValue('--row'))) === ${count + 1}`);
    assert.equal(await open().page.evaluate('document.activeElement.dataset.key'), key);
  });

  it('shows foreign text as text', async () => {
    const rollout = aRollout(aRun('dev'), 9, null);
    const [span] = spansOf(rollout, 1);
    const title = '<img src=x onerror="window.hacked=1"><b>bold</b>';
    await open().post({ type: 'view', view: { header: runHeader(aRun('dev')), source: 'run', rollouts: [{ ...rolloutHead(rollout, true), title }], steps: [], step: null, open: rollout.rollout_id }, keep: null });
    await open().post({ type: 'spans', rollout_id: rollout.rollout_id, reset: true, spans: packRows([{ ...spanRow(span!), title }]) });
    await open().post({ type: 'detail', key: rollout.rollout_id, detail: { title, facts: '', sections: [{ kind: 'chat', title: 'Conversation', messages: [{ role: 'user', name: null, text: title, calls: [{ name: title, arguments: title }], index: 0 }] }], source: null, curl: false, replay: true, compare: false } });
    await open().page.locator('.message', { hasText: '<b>bold</b>' }).waitFor();
    assert.equal(await open().page.locator('img, b').count(), 0);
    assert.equal(await open().page.evaluate('window.hacked'), undefined);
  });

  it('a replay sends what was changed and nothing else', async () => {
    const { page: document } = open();
    await document.locator('vscode-button', { hasText: 'Replay from here' }).click();
    await document.locator('textarea').fill('something else');
    await document.locator('vscode-button', { hasText: 'Run from here' }).click();
    const sent = (await open().sent()).at(-1) as { type: string; edits?: unknown };
    assert.deepEqual([sent.type, sent.edits], ['replay', [{ index: 0, text: 'something else' }]]);
  });

  it('shows its rows at any width, and the time beside them where there is room', async () => {
    await open().open(traceMessages(50).make());
    for (const [width, timed] of [[1100, true], [700, false], [300, false]] as const) {
      await open().page.setViewportSize({ width, height: 800 });
      await open().page.waitForFunction("document.querySelector('.tree').clientHeight > 100");
      await open().page.locator('.axis').waitFor({ state: timed ? 'visible' : 'hidden' });
    }
  });

  it('speaks the language of the bundle it is handed', async () => {
    const bundle = translations().get('de') ?? assert.fail('no German');
    const german = await openTracePage(chromium, bundle);
    try {
      await german.page.getByText(bundle['No run to show'] ?? '').waitFor({ state: 'attached' });
      await german.open(traceMessages(20).make());
      await german.page.getByPlaceholder('Nachrichten und Ergebnisse durchsuchen').waitFor();
      assert.equal(await german.page.locator('.count').innerText(), '0 von 1 Rollout beendet');
      assert.deepEqual(await german.page.locator('.search + select option').allInnerTexts(), ['Jeder Status', 'Mit Fehlern', 'Bewertet', 'Ohne Belohnung', 'Läuft', 'Abgebrochen']);
    } finally {
      await german.close();
    }
  });
});
