/**
 * Writes `l10n/bundle.l10n.json` from the messages in the sources, takes messages that are no longer used out of the translations and
 * lists those that are missing there: `npm run l10n`.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'l10n');
const english = 'bundle.l10n.json';

/** The sources whose text a user can see, parsed. */
export function userFacingSources(): ts.SourceFile[] {
  return ['src', 'webview'].flatMap((name) => readdirSync(join(root, name), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts')).map((file) => join(root, name, file)))
    .sort().map((path) => ts.createSourceFile(relative(root, path), readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true));
}

/** The arguments of a call that are messages: the first of `t(…)`, `l10n.t(…)`, `vscode.l10n.t(…)`, the last two of `plural(…)`. */
export function messagesOf(node: ts.Node): readonly ts.Expression[] {
  if (!ts.isCallExpression(node)) return [];
  const { expression: callee } = node;
  const name = ts.isIdentifier(callee) || (ts.isPropertyAccessExpression(callee) && callee.name.text === 't') ? callee.getText().split('.').at(-1) : undefined;
  return name === 't' ? node.arguments.slice(0, 1) : name === 'plural' ? node.arguments.slice(1) : [];
}

export function* nodesIn(node: ts.Node): Generator<ts.Node> {
  yield node;
  for (const child of node.getChildren()) yield* nodesIn(child);
}

/** The English messages of the sources, sorted. @throws Error for a message that is no literal, which nothing could extract */
export function messages(): string[] {
  const found = new Set<string>();
  for (const source of userFacingSources()) {
    for (const node of nodesIn(source)) {
      for (const message of messagesOf(node)) {
        if (ts.isStringLiteralLike(message)) found.add(message.text);
        else if (!isPassedOn(message)) throw new Error(`${source.fileName}: ${message.getText()} is translated but is no literal`);
      }
    }
  }
  return [...found].sort();
}

/** The parameter of a function that only passes its message on to another translator. */
function isPassedOn(message: ts.Expression): boolean {
  for (let at: ts.Node = message; at.parent !== undefined; at = at.parent) {
    if (ts.isFunctionLike(at)) return ts.isIdentifier(message) && at.parameters.some(({ name }) => name.getText() === message.text);
  }
  return false;
}

/** The translations by language, as they are. */
export function translations(): Map<string, Record<string, string>> {
  const files = readdirSync(folder).filter((file) => /^bundle\.l10n\..+\.json$/.test(file));
  return new Map(files.map((file) => [file.split('.')[2] ?? '', JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, string>]));
}

export function englishBundle(): Record<string, string> {
  return existsSync(join(folder, english)) ? JSON.parse(readFileSync(join(folder, english), 'utf8')) as Record<string, string> : {};
}

function write(file: string, bundle: Record<string, string>): void {
  writeFileSync(join(folder, file), `${JSON.stringify(bundle, null, 2)}\n`);
}

function main(): void {
  const wanted = messages();
  write(english, Object.fromEntries(wanted.map((message) => [message, message])));
  for (const [language, known] of translations()) {
    write(`bundle.l10n.${language}.json`, Object.fromEntries(wanted.flatMap((message) => (known[message] === undefined ? [] : [[message, known[message]]]))));
    for (const message of wanted.filter((each) => known[each] === undefined)) process.stdout.write(`${language}: ${JSON.stringify(message)} is missing\n`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();
