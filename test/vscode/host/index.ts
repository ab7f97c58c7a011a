import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Mocha from 'mocha';

/**
 * Entry of the suite that runs inside the extension host (of code-server, or of a desktop VS Code). Rejects when a test
 * fails. The report also goes to a file beside the bundle: who started VS Code does not see this process's output.
 */
export function run(): Promise<void> {
  const mocha = new Mocha({ ui: 'bdd', timeout: 60_000, reporter: 'json', reporterOptions: { output: join(__dirname, 'report.json') } });
  mocha.addFile(join(__dirname, 'suite.cjs'));
  return new Promise((resolve, reject) => {
    try {
      mocha.run((failures) => { if (failures === 0) resolve(); else reject(new Error(`${failures} of the tests in the extension host failed.`)); });
    } catch (error) {
      writeFileSync(join(__dirname, 'report.json'), JSON.stringify({ error: String(error) }));
      reject(error instanceof Error ? error : new Error(String(error)));
    }
  });
}
