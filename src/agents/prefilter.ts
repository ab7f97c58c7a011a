/**
 * Whether a source is worth parsing. A file that passes may hold no agent; one that does not, holds none: each row names
 * words of which every agent of that kind has at least one of each.
 */
const wrapped = [/agent_trainer|agentlightning|agent-trainer/, /rollout/] as const;
const agentClass = [/LitAgent/] as const;

/** One cheap pass over all words that begin a row; few files have any of them. */
const anything = /completions|['"]ai['"]|nthropic|angchain|anggraph|litellm|crew|autogen|ag2|letta|openai|(?:generate|stream)(?:Text|Object|UI)|LoopAgent|Experimental_Agent|Runner|agent_trainer|agentlightning|agent-trainer|LitAgent/;

const rows: readonly (readonly RegExp[])[] = [
  wrapped,
  agentClass,
  [/completions/, /create|parse|stream|post|request|fetch|runTools|urlopen|Request|axios|got|ky/],
  [/openai/i, /responses|ChatCompletion|completions|threads/],
  [/anthropic/i, /messages|completions/],
  [/langchain|langgraph/, /invoke|stream|batch|predict|run|call|generate/],
  [/@openai\/agents|agents/, /Runner|run\s*\(/, /import/, /Runner|@openai\/agents/],
  [/litellm/, /completion|responses/],
  [/crewai|\bcrew\s*\(/, /kickoff|call/],
  [/autogen|\bag2\b/, /initiate_chat|generate_\w*reply|run|on_messages|create/],
  [/letta/, /message/],
  [/(?:generate|stream)(?:Text|Object|UI)|LoopAgent|Experimental_Agent|\bAgent\b/, /['"]ai(?:\/rsc)?['"]/],
];

/** No source holds a zero byte, and a parser takes minutes to find nothing in a file of them. */
const isBinary = (text: string): boolean => text.includes('\0');

export function mayHoldAgent(text: string): boolean {
  return anything.test(text) && !isBinary(text) && rows.some((row) => row.every((word) => word.test(text)));
}
