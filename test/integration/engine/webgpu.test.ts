import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cases } from '../../unit/engine/cases.ts';

/** Chromium brings a software Vulkan driver and its loader. */
const chromium = '/usr/lib/chromium';
const driver = `${chromium}/vk_swiftshader_icd.json`;

describe('engine on WebGPU', () => {
  it('computes every operator and derivative as the CPU does', async function () {
    if (!existsSync(driver)) {
      console.log(`      skipped: no software Vulkan driver at ${driver} (it comes with the chromium package)`);
      return this.skip();
    }
    this.timeout(180_000);
    const environment = { ...process.env, VK_DRIVER_FILES: driver, VK_ICD_FILENAMES: driver, LD_LIBRARY_PATH: chromium, XDG_RUNTIME_DIR: '/tmp' };
    const script = fileURLToPath(new URL('./webgpu-cases.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script], { env: environment });
    const errors = JSON.parse(stdout) as Record<string, number>;
    assert.deepEqual(Object.keys(errors), cases.map((c) => c.name));
    // The driver's exp, sin and cos are good to about 2e-4.
    assert.deepEqual(Object.entries(errors).filter(([, error]) => !(error < 1e-3)), []);
  });
});
