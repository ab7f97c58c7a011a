/** Share of vowels among the characters of a text: what both sides' answers are scored by. */
export const vowelShare = (text: string) => text.replace(/[^aeiou]/gi, '').length / Math.max(1, text.length);
