/** Libraries of services that keep their model to themselves, by the start of a module's name. */
const closedModules: [string, string][] = [
  ['anthropic', 'Anthropic'], ['@anthropic-ai/sdk', 'Anthropic'], ['@ai-sdk/anthropic', 'Anthropic'], ['langchain_anthropic', 'Anthropic'], ['@langchain/anthropic', 'Anthropic'],
  ['google.generativeai', 'Google Gemini'], ['google.genai', 'Google Gemini'], ['@google/genai', 'Google Gemini'], ['@google/generative-ai', 'Google Gemini'], ['@ai-sdk/google', 'Google Gemini'], ['langchain_google_genai', 'Google Gemini'],
  ['letta_client', 'Letta'], ['@letta-ai/letta-client', 'Letta'],
  ['cohere', 'Cohere'], ['@aws-sdk/client-bedrock-runtime', 'Amazon Bedrock'], ['langchain_aws', 'Amazon Bedrock'],
];

/** The service a resolved name (`module:name`) belongs to; null when its server can be chosen. */
export function closedService(resolved: string | null): string | null {
  if (resolved === null) return null;
  const [module = '', name = ''] = resolved.split(':');
  if (module === 'google' && name.startsWith('gen')) return 'Google Gemini';
  if (name.includes('AzureOpenAI') || name.includes('AzureChatOpenAI')) return 'Azure OpenAI';
  return closedModules.find(([start]) => module === start || module.startsWith(`${start}.`) || module.startsWith(`${start}/`))?.[1] ?? null;
}

/** The Assistants API of OpenAI runs on OpenAI's servers only, agents and all. */
export function isAssistantsCall(path: string[] | null): boolean {
  const beta = path?.indexOf('beta') ?? -1;
  return beta >= 0 && ['assistants', 'threads'].includes(path?.[beta + 1] ?? '');
}
