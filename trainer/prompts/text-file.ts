/** The text of a file's bytes, its byte order mark included. Throws TypeError when they are not UTF-8: writing them back would change more than the prompt. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** The text of a file that is a prompt: line breaks are `\n` whatever the file has, if it has one kind. */
export function readTextFile(fileText: string): string {
  return hasCrlf(fileText) ? fileText.replaceAll('\r\n', '\n') : fileText;
}

/** A file with the new text and the line breaks it had. */
export function writeTextFile(fileText: string, newText: string): string {
  return hasCrlf(fileText) ? newText.replace(/\r?\n/g, '\r\n') : newText;
}

const hasCrlf = (text: string): boolean => text.includes('\r\n') && !/(?<!\r)\n/.test(text);
