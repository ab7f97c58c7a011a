import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { englishBundle, messages, messagesOf, nodesIn, translations, userFacingSources } from '../../../scripts/l10n.ts';
import { plural, t, useBundle } from '../../../trainer/protocol/l10n.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const read = (file: string): Record<string, string> => JSON.parse(readFileSync(join(root, file), 'utf8')) as Record<string, string>;

const holes = (text: string): string[] => (text.match(/\{\d+\}/g) ?? []).sort();
/** What a translation must carry over unchanged: placeholders, and in the manifest's texts links to commands. */
const fixed = (text: string): string[] => [...holes(text), ...(text.match(/\]\(command:[\w.]+\)/g) ?? [])];

function assertTranslates(english: Record<string, string>, translation: Record<string, string>, language: string): void {
  assert.deepEqual(Object.keys(translation).sort(), Object.keys(english).sort(), `${language}: run npm run l10n, and translate what it lists`);
  for (const [key, text] of Object.entries(english)) assert.deepEqual(fixed(translation[key] ?? ''), fixed(text), `${language}: ${text}`);
}

describe('texts in the user’s language', () => {
  it('the bundle has the messages of the sources, no more and no fewer', function () {
    this.timeout(60_000);
    assert.deepEqual(Object.keys(englishBundle()).sort(), messages(), 'run npm run l10n');
  });

  it('each translation is complete and keeps the placeholders', () => {
    assert.ok(translations().has('de'));
    for (const [language, bundle] of translations()) assertTranslates(englishBundle(), bundle, language);
  });

  it('so are the translations of the manifest', () => {
    const files = readdirSync(root).filter((file) => /^package\.nls\..+\.json$/.test(file)).filter((file) => file !== 'package.nls.json');
    assert.deepEqual(files, ['package.nls.de.json']);
    for (const file of files) assertTranslates(read('package.nls.json'), read(file), file);
  });

  it('no text of the extension or its pages goes past them', function () {
    this.timeout(60_000);
    // What src/tools says is read by a language model.
    assert.deepEqual(userFacingSources().filter(({ fileName }) => !fileName.startsWith('src/tools/')).flatMap(untranslated), []);
  });

  it('a message is filled in, in the language of the bundle', () => {
    try {
      assert.equal(t('{1} of {0}', 7, 'all'), 'all of 7');
      useBundle({ '{0} task': '{0} Aufgabe', '{0} tasks': '{0} Aufgaben', 'step {0} of {1}': 'von {1} Schritt {0}' });
      assert.equal(t('step {0} of {1}', 1, 2), 'von 2 Schritt 1');
      assert.deepEqual([plural(1, '{0} task', '{0} tasks'), plural(1200, '{0} task', '{0} tasks')], ['1 Aufgabe', '1,200 Aufgaben']);
    } finally {
      useBundle({});
    }
  });
});

const shownProperties = new Set(['title', 'label', 'description', 'detail', 'tooltip', 'placeHolder', 'placeholder', 'prompt', 'note', 'help', 'hint', 'aria-label', 'aria-valuetext', 'statusText', 'facts']);
const shownArguments = /(^|\.)(show(Information|Warning|Error)Message|setText|button|TrainerError|setStatusBarMessage)$/;
/** What goes to the log, or is no text at all. */
const unseen = /(^|\.)(inBackground|remember|info|warn|debug|trace|background|log|test|includes|startsWith|querySelector|createElement|get|asWebviewUri|failed)$|^(Range)?Error$/;
/** Names, units of measure, examples and what goes to a model or a shell, not to the user; pages of HTML; code that is written into sources. */
const notTexts = /^(Agent Trainer|http:\/\/|Bearer |content-type: |\$\([\w~-]+\) $|rollouts$|calls$|short$|numeric$|2-digit$|assistant$|exception\.|color-mix|\.swatch |<|\s*"?>|export default |task: unknown$|\.endpoint, )/;

/** Literals that a user would see as they are. */
function untranslated(source: ts.SourceFile): string[] {
  const found: string[] = [];
  for (const node of nodesIn(source)) {
    const isLiteral = ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
    if (!isLiteral || !/[A-Za-z]{2,}/.test(node.text) || notTexts.test(node.text)) continue;
    if (isShown(node, /[A-Za-z]{2,}[,:;]? [a-z]/.test(node.text))) found.push(`${source.fileName}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${node.text.trim()}`);
  }
  return found;
}

/** Whether the nearest call or property that says so shows the literal; `isProse` when none does. */
function isShown(node: ts.Node, isProse: boolean): boolean {
  for (let at = node; at.parent !== undefined && !ts.isStatement(at); at = at.parent) {
    const { parent } = at;
    if (messagesOf(parent).some((message) => message === at) || ts.isTypeNode(parent)) return false;
    if (ts.isBinaryExpression(parent) && /[!=]==/.test(parent.operatorToken.getText())) return false;
    if (ts.isElementAccessExpression(parent) && parent.argumentExpression === at) return false;
    if (ts.isPropertyAssignment(parent) && parent.initializer === at) {
      const name = parent.name.getText().replaceAll("'", '');
      return shownProperties.has(name) || (isProse && name !== 'class' && name !== 'd');
    }
    if (!ts.isCallExpression(parent) && !ts.isNewExpression(parent)) continue;
    const callee = parent.expression.getText();
    const index = parent.arguments?.findIndex((argument) => argument === at) ?? -1;
    if (index === -1) continue;
    if (unseen.test(callee)) return false;
    if (callee === 'h') return index >= 2 || isProse;
    if (!shownArguments.test(callee)) return isProse;
    return callee.endsWith('TrainerError') ? index === 1 : !callee.endsWith('button') || index === 0;
  }
  return isProse;
}
