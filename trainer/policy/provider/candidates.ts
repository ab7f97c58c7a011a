import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { findTensorFlow } from '../../engine/tensorflow/load.ts';
import type { Provider } from '../../protocol/providers.ts';

/** A provider of this platform; `missing` says what is not installed. */
export interface Candidate { provider: Provider; missing: string | null }

/** What decides which providers there are. */
export interface Platform { os: NodeJS.Platform; arch: string; nvidia: boolean; cudaBinaries: boolean; tensorFlow: boolean }

/** onnxruntime-node 1.30 brings these; CUDA's binaries are not in the npm package. */
const ofPlatform: Readonly<Record<string, readonly Provider[]>> = {
  'linux x64': ['cuda', 'webgpu', 'tensorflow'],
  'linux arm64': [],
  'win32 x64': ['dml', 'webgpu', 'tensorflow'],
  'win32 arm64': ['dml', 'webgpu'],
  'darwin x64': ['coreml', 'webgpu'],
  'darwin arm64': ['coreml', 'webgpu'],
};

/** The providers of a platform, the CPU first. */
export function candidates(platform: Platform): Candidate[] {
  const others = ofPlatform[`${platform.os} ${platform.arch}`] ?? [];
  return ['cpu' as const, ...others].map((provider) => ({ provider, missing: missing(provider, platform) }));
}

function missing(provider: Provider, { nvidia, cudaBinaries, tensorFlow }: Platform): string | null {
  if (provider === 'cuda') {
    if (!nvidia) return 'no NVIDIA driver';
    return cudaBinaries ? null : 'ONNX Runtime\'s binaries for CUDA 12 are not installed; "agent-trainer hardware --install cuda" does it';
  }
  if (provider === 'tensorflow') {
    if (!nvidia) return 'no NVIDIA driver';
    return tensorFlow ? null : 'not installed; for a GPU with CUDA 11, "agent-trainer hardware --install tensorflow" does it';
  }
  return null;
}

export function thisPlatform(): Platform {
  return { os: process.platform, arch: process.arch, nvidia: hasNvidia(), cudaBinaries: existsSync(path.join(onnxRuntimeBinaries(), 'libonnxruntime_providers_cuda.so')), tensorFlow: findTensorFlow() !== null };
}

/** The folder of onnxruntime-node's native libraries. */
export function onnxRuntimeBinaries(): string {
  return path.join(onnxRuntimeFolder(), 'bin', 'napi-v6', process.platform, process.arch);
}

export function onnxRuntimeFolder(): string {
  return path.dirname(path.dirname(createRequire(import.meta.url).resolve('onnxruntime-node')));
}

function hasNvidia(): boolean {
  const { SystemRoot = 'C:\\Windows' } = process.env;
  const files = process.platform === 'win32' ? [path.join(SystemRoot, 'System32', 'nvcuda.dll')] : ['/proc/driver/nvidia/version', '/usr/lib/wsl/lib/libcuda.so.1', '/dev/nvidiactl'];
  return files.some((file) => existsSync(file));
}
