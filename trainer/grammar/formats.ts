const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,60}[A-Za-z0-9])?';
const host = `${label}(?:\\.${label}){0,3}`;
const date = '(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))'
  + '|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)';
const time = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)';
const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const hex = '[0-9a-fA-F]{1,4}';
const some = (letter: string) => `(?:\\d{1,9}${letter})?`;
const word = "[A-Za-z0-9._~!$&'()*+,;=:@-]";

/** Formats of strings (JSON Schema 2020-12, §7.3) as patterns: what they match is valid, though the wider formats allow more. */
export const formats: ReadonlyMap<string, string> = new Map(Object.entries({
  date,
  time,
  'date-time': `${date}T${time}`,
  duration: `P(?!$)(?:\\d{1,9}W|${some('Y')}${some('M')}${some('D')}(?:T(?=\\d)${some('H')}${some('M')}${some('S')})?)`,
  email: `[A-Za-z0-9_+-]+(?:\\.[A-Za-z0-9_+-]+)*@(?:${label}\\.){1,3}[A-Za-z]{2,20}`,
  hostname: host,
  uuid: '[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}',
  ipv4: `(?:${octet}\\.){3}${octet}`,
  ipv6: [`(?:${hex}:){7}${hex}`, '::', ...[1, 2, 3, 4, 5, 6].map((n) => `(?:${hex}:){1,${n}}(?::${hex}){1,${7 - n}}`), `(?:${hex}:){1,7}:`, `:(?::${hex}){1,7}`].join('|'),
  uri: `[A-Za-z][A-Za-z0-9+.-]*://${host}(?::[1-9]\\d{0,3})?(?:/${word}*)*(?:\\?(?:${word}|[/?])*)?(?:#(?:${word}|[/?])*)?`,
}).map(([name, source]) => [name, `^(?:${source})$`]));
