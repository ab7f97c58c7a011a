import type { AttemptedRollout } from '../../protocol/rollout.ts';
import type { Run, StepMetrics, TrainResult } from '../../protocol/run.ts';
import { attr, isLlmCall, spanNames, type Span } from '../../protocol/span.ts';
import { decimal, duration, pValue, signed } from '../format.ts';
import { curveSvg } from './curve-svg.ts';
import { countChanges, type TaskPair } from './pairs.ts';

export interface ReportRollout { rollout: AttemptedRollout; spans: Span[] }
interface ReportInput { run: Run; result: TrainResult; steps: StepMetrics[]; pairs: TaskPair[]; examples: { before: ReportRollout; after: ReportRollout }[] }

/** A training run as one HTML page that needs nothing else. Everything from the run is escaped text. */
export function reportHtml({ run, result, steps, pairs, examples }: ReportInput): string {
  const changes = countChanges(pairs);
  const difference = result.difference;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Training report ${escape(run.run_id)}</title><style>${css}</style></head><body><main>
<h1>${escape(run.agent)}</h1>
<p class="muted">Run ${escape(run.run_id)} · ${new Date(run.create_time * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC · ${result.steps} steps in ${duration(result.wall_s)}</p>
<section class="cards">
${card('Before', decimal(result.before.mean_reward), `${result.before.n} held-out tasks`)}
${card('After', decimal(result.after.mean_reward), `${result.after.n} held-out tasks`)}
${difference ? card('Difference', signed(difference.mean), `95 % interval ${signed(difference.ci95[0])} to ${signed(difference.ci95[1])}, ${pValue(difference.p_value)}`) : card('Difference', '–', 'fewer than two tasks scored on both sides')}
</section>
<p>Same held-out tasks before and after, none of them trained on: <b>${changes.won}</b> went up, <b>${changes.lost}</b> went down, ${changes.same} stayed${changes.unscored ? `, ${changes.unscored} could not be compared` : ''}.</p>
<h2>Reward while training</h2>
${curveSvg(steps)}
<p class="muted">Mean reward of the scored rollouts of each step; the line is the mean of five steps.</p>
<h2>Rollouts before and after</h2>
<p class="muted">${examples.length} held-out tasks: the first ones whose reward changed.</p>
${examples.map((example) => `<section class="pair"><h3>${escape(taskText(example.before.rollout.input))}</h3><div>${rolloutHtml('Before', example.before)}${rolloutHtml('After', example.after)}</div></section>`).join('\n')}
</main></body></html>
`;
}

function card(title: string, value: string, note: string): string {
  return `<div class="card"><span>${title}</span><strong>${value}</strong><small>${escape(note)}</small></div>`;
}

function rolloutHtml(title: string, { rollout, spans }: ReportRollout): string {
  const attempt = rollout.attempt;
  const reward = attempt?.reward ?? null;
  const parents = new Set(spans.filter((span) => span.name !== spanNames.reward).map((span) => span.parent_id));
  const steps = spans.filter((span) => isLlmCall(span) || (span.name === spanNames.operation && !parents.has(span.span_id)));
  const byId = new Map(spans.map((span) => [span.span_id, span]));
  const items = steps.map((span) => {
    const owner = span.parent_id === null ? undefined : byId.get(span.parent_id);
    const name = isLlmCall(span) ? owner?.attributes[attr.operationLabel] ?? 'chat' : span.attributes[attr.operationLabel];
    const text = isLlmCall(span) ? answer(span) : String(span.attributes[attr.operationOutput] ?? '');
    return `<li><span>${escape(String(name ?? span.name))}</span><code>${escape(clip(span.status.status_code === 'ERROR' ? span.status.description ?? text : text))}</code></li>`;
  });
  const mark = reward === null ? escape(attempt?.outcome ?? rollout.status) : `reward ${decimal(reward, 2)}`;
  return `<article class="${reward !== null && reward >= 0.5 ? 'good' : 'bad'}"><h4>${title} <span>${mark}</span></h4><ol>${items.join('')}</ol>${attempt?.error ? `<p>${escape(attempt.error)}</p>` : ''}</article>`;
}

function answer(span: Span): string {
  const raw = span.attributes[attr.outputMessages];
  if (typeof raw !== 'string') return '';
  try {
    const parsed = JSON.parse(raw) as { content?: string } | { content?: string }[];
    return (Array.isArray(parsed) ? parsed.at(-1) : parsed)?.content ?? raw;
  } catch {
    return raw; // not JSON: show it as it is
  }
}

function taskText(input: unknown): string {
  if (input !== null && typeof input === 'object' && 'question' in input && typeof input.question === 'string') return input.question;
  return clip(typeof input === 'string' ? input : JSON.stringify(input));
}

function clip(text: string): string {
  return text.length > 400 ? `${text.slice(0, 399)}…` : text;
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[character] ?? character);
}

const css = `
:root{color-scheme:light dark;--ink:#1f2328;--muted:#656d76;--line:#d8dee4;--card:#f6f8fa;--blue:#0969da;--good:#1a7f37;--bad:#cf222e;--page:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--muted:#8d96a0;--line:#30363d;--card:#161b22;--blue:#4493f8;--good:#3fb950;--bad:#f85149;--page:#0d1117}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);margin:0}main{max-width:860px;margin:2.5rem auto;padding:0 1.25rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .6rem}h3{font-size:.95rem;margin:0 0 .6rem}.muted{color:var(--muted);margin:.25rem 0}
.cards{display:grid;grid-template-columns:repeat(3,1fr);gap:.8rem;margin:1.4rem 0 1rem}.card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;display:flex;flex-direction:column}
.card span,.card small{color:var(--muted)}.card strong{font-size:1.7rem;font-variant-numeric:tabular-nums}
svg{width:100%;height:auto}svg text{font-size:11px;fill:var(--muted)}.grid{stroke:var(--line)}polyline{fill:none;stroke:var(--blue);stroke-width:2}circle{fill:var(--blue);opacity:.55}
.pair{border:1px solid var(--line);border-radius:8px;padding:1rem;margin:.8rem 0}.pair>div{display:grid;grid-template-columns:1fr 1fr;gap:1rem}article{min-width:0}
h4{margin:0 0 .4rem;font-size:.85rem}.good h4 span{color:var(--good)}.bad h4 span{color:var(--bad)}ol{margin:0;padding:0;list-style:none}li{margin:.35rem 0}li span{color:var(--muted);font-size:.8rem;display:block}
code{font:12.5px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}@media(max-width:640px){.cards,.pair>div{grid-template-columns:1fr}}`;
