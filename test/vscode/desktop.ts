import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { runTests } from '@vscode/test-electron';
import { bundleHostSuite, hostFolder } from './host-folder.ts';
import { root } from './real-vscode.ts';

// npm run test:desktop: the in-host suite in a downloaded desktop VS Code, for machines that can fetch and show one.
const folder = hostFolder();
try {
  await runTests({ extensionDevelopmentPath: root, extensionTestsPath: await bundleHostSuite(), launchArgs: [folder, '--disable-extensions', '--disable-workspace-trust', '--skip-welcome', `--user-data-dir=${join(folder, '.data')}`] });
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
