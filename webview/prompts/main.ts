import '../shared/language.ts';
import './prompts.css';
import type { FromPrompts, PromptsView, ToPrompts } from '../../trainer/protocol/prompt-views.ts';
import { registerControls } from '../shared/controls.ts';
import { h } from '../shared/dom.ts';
import { connect } from '../shared/host.ts';
import { agentView } from './agent.ts';
import { historyView } from './history.ts';
import { searchSection } from './search.ts';
import { setupForm } from './setup.ts';

registerControls();
const page = document.getElementById('page') ?? document.body;
const send = connect<ToPrompts, FromPrompts>((message) => {
  if (message.type === 'view') draw(message.view);
  else search.scored(message.problem);
});

const agent = agentView({
  agent: (value) => { send({ type: 'agent', agent: value }); },
  find: () => { send({ type: 'find-agents' }); },
  open: (prompt_id) => { send({ type: 'open-prompt', prompt_id }); },
  choose: (prompt_id, chosen) => { send({ type: 'setup', patch: { prompt: { prompt_id, chosen } } }); },
  trust: () => { send({ type: 'manage-trust' }); },
});
const setup = setupForm({
  change: (patch) => { send({ type: 'setup', patch }); },
  data: (part) => { send({ type: 'choose-data', part }); },
  splitOff: (part) => { send({ type: 'split-off', part }); },
  model: (of) => { send({ type: 'choose-model', of }); },
  start: () => { send({ type: 'start' }); },
});
const search = searchSection({
  control: (type, run_id) => { send({ type, run_id }); },
  fresh: () => { send({ type: 'show', run_id: null }); },
  select: (candidate_id) => { send({ type: 'select', candidate_id }); },
  base: (base) => { send({ type: 'base', base }); },
  apply: (run_id, candidate_id) => { send({ type: 'apply', run_id, candidate_id }); },
  pin: (run_id, candidate_id, pinned) => { send({ type: 'pin', run_id, candidate_id, pinned }); },
  score: (run_id, candidate_id, texts) => { send({ type: 'score', run_id, candidate_id, texts }); },
  trace: (run_id, rollout_id) => { send({ type: 'open-trace', run_id, rollout_id }); },
});
const history = historyView({
  show: (run_id) => { send({ type: 'show', run_id }); },
  apply: (run_id, which) => { send({ type: 'apply-run', run_id, which }); },
});
page.append(h('div', { class: 'page' }, agent.element, search.element, setup.element, history.element));

function draw(view: PromptsView): void {
  agent.update({ ...view, choosing: view.setup !== null });
  search.update(view.search);
  setup.element.hidden = view.setup === null;
  if (view.setup !== null) setup.update(view.setup);
  history.update(view.history);
}
