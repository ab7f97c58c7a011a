/**
 * What a model meant as the new prompt: the last <prompt> … </prompt>, else the longest fenced block. null: there is none, or
 * it is cut off. Models think aloud first, wrap the text in a fence inside the tags, or use a fence in place of the tags.
 */
export function promptIn(answer: string): string | null {
  const said = withoutThoughts(answer);
  const opening = said.toLowerCase().lastIndexOf('<prompt>');
  if (opening >= 0) {
    const rest = said.slice(opening + '<prompt>'.length);
    const end = rest.toLowerCase().lastIndexOf('</prompt>');
    return end < 0 ? null : textOrNull(withoutFence(rest.slice(0, end)));
  }
  const blocks = [...said.matchAll(/^(`{3,})[^\n`]*\n([\s\S]*?)\n?^\1`*[ \t]*$/gm)].map((match) => match[2] ?? '');
  return textOrNull(blocks.reduce((longest, block) => (block.length > longest.length ? block : longest), ''));
}

/** What a model said is wrong: <critique> … </critique>, else all it wrote before the prompt. At most `limit` characters. */
export function critiqueIn(answer: string, limit = 4000): string {
  const said = withoutThoughts(answer);
  const tagged = /<critique>([\s\S]*?)(?:<\/critique>|<prompt>|$)/i.exec(said)?.[1];
  const before = /^([\s\S]*?)(?:<prompt>|^`{3})/im.exec(said)?.[1] ?? said;
  return (tagged ?? before).trim().slice(0, limit);
}

/** `text` between the blanks that `like` begins and ends with: models do not keep them, and the source may need its last line break. */
export function withMarginsOf(like: string, text: string): string {
  return (/^\s*/.exec(like)?.[0] ?? '') + text.trim() + (/\s*$/.exec(like.trimStart())?.[0] ?? '');
}

function withoutThoughts(answer: string): string {
  return answer.replace(/<think(?:ing)?>[\s\S]*?<\/think(?:ing)?>/gi, '').replaceAll('\r\n', '\n');
}

function withoutFence(text: string): string {
  return /^\s*(`{3,})[^\n`]*\n([\s\S]*?)\n?\1\s*$/.exec(text)?.[2] ?? text;
}

function textOrNull(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}
