/**
 * The trace page with 50,000 spans in headless Chromium: the bundle that ships, fed with the messages that the extension sends.
 *
 *   npx tsx bench/viewer.ts [--json] [--spans N]
 *
 * open_ms: from the spans as the trainer sends them (view models made, handed over as text, parsed, drawn) to the second frame
 * after. scroll_fps: frames per second in which the tree was scrolled by ten lines and drawn anew. live_spans_per_s: spans
 * taken in while 1,000 per second arrive. input_delay_ms: 95th percentile, from a key press to the page's handler for it, meanwhile.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openTracePage, traceMessages } from '../test/fixtures/trace-page.ts';

const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false }, spans: { type: 'string', default: '50000' } } });
const chromium = '/usr/bin/chromium';
const spans = Number(flags.spans);
const liveSeconds = 5;
const livePerSecond = 1000;

const began = performance.now();
const messages = traceMessages(spans);
const texts = messages.make();
const host_ms = performance.now() - began - messages.prepared_ms;

if (!existsSync(chromium)) throw new Error(`This needs a Chromium at ${chromium}.`);
const page = await openTracePage(chromium);
try {
  const page_ms = await page.open(texts);
  const rows = await page.rowCount();
  if (rows.lines < spans) throw new Error(`the page holds ${rows.lines} lines of ${spans} spans`);
  const scroll_fps = await page.scroll(3);
  const live = await page.live(messages.live(livePerSecond * liveSeconds), liveSeconds);
  const result = {
    spans,
    open_ms: Math.round(host_ms + page_ms),
    scroll_fps: Math.round(scroll_fps),
    live_spans_per_s: Math.round(live.spans_per_s),
    input_delay_ms: Number(live.input_delay_ms.toFixed(1)),
    rows_in_dom: rows.elements,
    host_ms: Math.round(host_ms),
    page_ms: Math.round(page_ms),
    browser: execFileSync(chromium, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] }).toString().trim(),
  };
  if (flags.json) console.log(JSON.stringify(result));
  else console.log(`${result.spans} spans: open ${result.open_ms} ms, scroll ${result.scroll_fps} frames/s, ${result.live_spans_per_s} live spans/s with ${result.input_delay_ms} ms input delay (95 %), ${result.rows_in_dom} rows in the page`);
} finally {
  await page.close();
}
