import type { Bundle } from '../../trainer/protocol/l10n.ts';
import { randomBytes } from 'node:crypto';
import type { TabInputWebview, Uri, ViewColumn, Webview, WebviewPanel } from 'vscode';
import { panels } from '../ids.ts';
import type { VSCode } from '../vscode.ts';

export interface Page { name: 'training' | 'trace'; title: string }

/** Where a new panel goes: to our other one if that is open, else beside the active editor. */
export function panelColumn(vscode: VSCode): ViewColumn {
  const group = vscode.window.tabGroups.all.find(({ tabs }) => tabs.some(({ input }) => input instanceof vscode.TabInputWebview && isOurs(input)));
  return group?.viewColumn ?? vscode.ViewColumn.Beside;
}

// VS Code gives the view type a prefix of its own in tabs.
function isOurs(input: TabInputWebview): boolean {
  return Object.values(panels).some((type) => input.viewType.endsWith(type));
}

/** The folder pages load from; they may read nothing else. */
export function pageRoot(vscode: VSCode, extensionUri: Uri): Uri {
  return vscode.Uri.joinPath(extensionUri, 'dist', 'webview');
}

/** Fills a panel with a page: own bundle, scripts by nonce alone, styles from the bundle, nothing from elsewhere. */
export function openPage(vscode: VSCode, extensionUri: Uri, panel: WebviewPanel, page: Page): void {
  const { webview } = panel;
  const root = pageRoot(vscode, extensionUri);
  webview.options = { enableScripts: true, localResourceRoots: [root] };
  const address = (file: string): string => webview.asWebviewUri(vscode.Uri.joinPath(root, file)).toString();
  panel.iconPath = vscode.Uri.joinPath(extensionUri, 'media', 'panel.svg');
  webview.html = html(webview, page, address(`${page.name}.js`), address(`${page.name}.css`), vscode.l10n.bundle === undefined ? { language: 'en', bundle: {} } : { language: vscode.env.language, bundle: vscode.l10n.bundle });
}

function html(webview: Webview, page: Page, script: string, style: string, { language, bundle }: { language: string; bundle: Bundle }): string {
  const nonce = randomBytes(16).toString('base64');
  // FAST, under the toolkit, and uPlot set styles through the CSS object model only, which this policy does not concern.
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src ${webview.cspSource}; font-src ${webview.cspSource}; img-src ${webview.cspSource}`;
  return `<!DOCTYPE html>
<html lang="${language}">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta http-equiv="Content-Security-Policy" content="${policy}">
  <title>${page.title}</title>
  <link rel="stylesheet" href="${style}">
</head>
<body>
  <main id="page"></main>
  <script type="application/json" id="l10n">${JSON.stringify(bundle).replaceAll('<', '\\u003c')}</script>
  <script nonce="${nonce}" type="module" src="${script}"></script>
</body>
</html>`;
}
