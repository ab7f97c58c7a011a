import { resolve, textsOf } from './resolve.ts';
import type { Call, Program } from './program.ts';

/** How a function reaches its model. */
export const frameworks = [
  'OpenAI', 'OpenAI-compatible', 'Anthropic', 'LangChain', 'LangGraph', 'OpenAI Agents SDK', 'AutoGen', 'CrewAI', 'LiteLLM', 'Vercel AI SDK', 'Letta', 'HTTP',
] as const;
export type Framework = (typeof frameworks)[number];

/** A rule speaks of resolved paths (see resolve.ts), never of raw text. */
interface Rule {
  framework: Framework;
  path: RegExp;
  /** The path may also begin with something unknown (a parameter, another file) when the file imports a module that matches. */
  loosely?: { imports: RegExp; path: RegExp };
}

/** Beginnings that say nothing of where a value comes from: unbound, unknown, or another file of the project. */
const unknownOrigin = /^(\?|global\.|\.|@\/|~\/|#)/;

const langchainModel = String.raw`[.:](Chat(?!Prompt|Message|Generation|History|Vector)\w+|\w*LLM|Azure(Chat)?OpenAI|OpenAI|Ollama|Bedrock|HuggingFace(Pipeline|Endpoint)|init_?[cC]hat_?[mM]odel|create_?\w*([aA]gent|[cC]hain)\w*|load_\w+_chain|\w+_chain|AgentExecutor|\w+Chain|Base(Chat|Language)Model|Runnable(Sequence|Serializable|WithMessageHistory)?)(\.\w+)?\(\)`;
const langgraphMaker = String.raw`[.:](create_?\w*([aA]gent|[sS]upervisor|[sS]warm)\w*|(State|Message|Messages)?Graph|Compiled(State)?Graph|Pregel|entrypoint)(\.\w+)?\(\)`;
const runs = String.raw`\.(a?invoke|a?stream|a?batch|astream_events|astream_log|streamEvents|streamLog)$`;
const runsOrCalls = String.raw`\.(a?invoke|a?stream|a?batch|astream_events|astream_log|streamEvents|streamLog|a?predict(_messages)?|a?run|a?call|a?generate)$`;

/** In order: the first that matches names the framework. */
const rules: Rule[] = [
  { framework: 'Letta', path: /^(letta\w*|@letta-ai\/[\w-]+)\b.*(\.agents\.messages\.(create|stream|send)\w*|\.(send|user)_message)$/, loosely: { imports: /^(letta|@letta-ai)/, path: /\.agents\.messages\.(create|stream|send)\w*$/ } },
  { framework: 'LiteLLM', path: /^litellm(:|\.(\w+\.)*(Router\(\)\.)?)a?(completion|text_completion|responses)$/ },
  { framework: 'OpenAI Agents SDK', path: /^(agents\.(\w+\.)*Runner(\(\))?\.run(_sync|_streamed)?|@openai\/agents(-core)?:(run|Runner\(\)\.run))$/ },
  { framework: 'Vercel AI SDK', path: /^ai(\/rsc)?:((generate|stream)(Text|Object|UI)|(ToolLoopAgent|Experimental_Agent|Agent)\(\)\.(generate|stream))$/ },
  { framework: 'CrewAI', path: /^crewai\b.*\(\)\.(a?kickoff(_async|_for_each|_for_each_async)?|a?call)$/, loosely: { imports: /./, path: /\.crew\(\)\.a?kickoff(_async|_for_each|_for_each_async)?$/ } },
  {
    framework: 'AutoGen',
    path: /^(autogen\w*|pyautogen|ag2)\b(.*\(\))?\.(a_)?(initiate_chats?|generate_reply|generate_oai_reply|run|run_stream|on_messages|on_messages_stream|create|create_stream)$/,
    loosely: { imports: /^(autogen|pyautogen|ag2)/, path: /\.(a_)?(initiate_chats?|generate_reply)$/ },
  },
  { framework: 'LangGraph', path: new RegExp(String.raw`^(langgraph\w*|@langchain/langgraph[\w/-]*)\b.*${langgraphMaker}.*${runs}`) },
  { framework: 'LangChain', path: new RegExp(String.raw`^(langchain\w*|@langchain/[\w/-]+|langchain/[\w/-]+)\b.*${langchainModel}.*${runsOrCalls}`) },
  {
    framework: 'Anthropic', path: /^(anthropic|@anthropic-ai\/[\w-]+)\b.*\.(messages\.(create|stream|parse)|completions\.create)$/,
    loosely: { imports: /^(anthropic|@anthropic-ai\/)/, path: /\.messages\.(create|stream|parse)$/ },
  },
  {
    framework: 'OpenAI',
    path: /^openai\b.*(\.(chat\.completions|responses|completions|threads\.runs)\.(with_\w+_response\.)?(create|parse|stream|runTools|create_and_poll|createAndPoll|create_and_stream)|\.createChatCompletion|\.(ChatCompletion|Completion)\.a?create)$/,
    loosely: { imports: /^openai$/, path: /\.(responses|completions)\.(create|parse|stream)$/ },
  },
  { framework: 'OpenAI', path: /^(?!)/, loosely: { imports: /^/, path: /\.chat\.completions\.(with_\w+_response\.)?(create|parse|stream|runTools)$/ } },
];

/** The method name of OpenAI's protocol: other makers' clients have it too. */
const openaiProtocol = /\.chat\.completions\.(create|parse|stream|complete)$/;

export interface LLMCall { call: Call; framework: Framework }

/** The calls of a program that reach a model. */
export function llmCalls(program: Program): LLMCall[] {
  const found: LLMCall[] = [];
  for (const call of program.calls) {
    const framework = frameworkOf(program, call);
    if (framework !== null) found.push({ call, framework });
  }
  return found;
}

const verbs = /^(create\w*|parse|stream\w*|runTools|a?invoke|a?batch|astream\w*|a?predict\w*|a?run\w*|a?call|a?generate\w*|a?(text_)?completion|a?responses|a?kickoff\w*|a_\w+|initiate_chats?|on_messages\w*|acreate|\w+_message|send\w*|post|request|Request|urlopen|fetch\w*|got|ky|axios|respond)$/;

function frameworkOf(program: Program, call: Call): Framework | null {
  const callee = call.value.of;
  if (callee.kind === 'name') {
    if (!mayBeFunction(program, call, callee.name)) return null;
  } else if (callee.kind !== 'member' || !verbs.test(callee.name)) return null;
  const paths = resolve(callee, call.scope);
  for (const { framework, path, loosely } of rules) {
    if (paths.some((candidate) => path.test(candidate))) return framework;
    if (loosely === undefined || ![...program.imports, ''].some((name) => loosely.imports.test(name))) continue;
    if (paths.some((candidate) => unknownOrigin.test(candidate) && loosely.path.test(candidate))) return framework;
  }
  if (paths.some((candidate) => openaiProtocol.test(candidate) && !candidate.startsWith('local.'))) return 'OpenAI-compatible';
  return isChatRequest(call, paths) ? 'HTTP' : null;
}

/** Plain calls that can matter: imported functions and `fetch`. */
function mayBeFunction(program: Program, call: Call, name: string): boolean {
  return name === 'fetch' || verbs.test(name) || (call.scope.lookUp(name)?.some(({ value }) => value.kind === 'import') ?? false);
}

const chatUrl = /\/chat\/completions\b/;
const httpClient = /^(requests|httpx|aiohttp|urllib3?|http|global\.fetch|node-fetch|undici|cross-fetch|axios|got|ky|ofetch|superagent|needle)\b/;
const sends = /(^|[.:?])(post|request|Request|urlopen|stream|send|fetch\w*|got|ky|axios|default|ofetch)$/;

/** A request to `/chat/completions` of some server. A bare path given to something that is no HTTP client is a route of one's own server. */
function isChatRequest(call: Call, paths: string[]): boolean {
  const sent = paths.filter((path) => sends.test(path));
  if (sent.length === 0) return false;
  const texts = call.value.args().slice(0, 3).flatMap((argument) => textsOf(argument, call.scope));
  if (!texts.some((text) => chatUrl.test(text))) return false;
  return sent.some((path) => httpClient.test(path)) || texts.some((text) => chatUrl.test(text) && !/^["'`]\//.test(text)) || texts.some((text) => /^["'`]https?:/.test(text));
}
