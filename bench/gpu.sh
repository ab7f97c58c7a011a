#!/usr/bin/env bash
# Checks and times every provider of the engine on this machine's GPU; needs no network once node_modules is there.
#   bench/gpu.sh [--json FILE] [--no-demo]
# Exit code: 0 all that runs computes right, 1 something is wrong, 3 there is no GPU (what runs without one was checked).
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '%-14s%s\n' "$1" "$2"; }
say machine "$(uname -sm), $(getconf _NPROCESSORS_ONLN 2>/dev/null || echo '?') cores"
command -v node >/dev/null || { echo "node is not installed: this needs Node 20.19 or newer." >&2; exit 1; }
say node "$(node --version)"
if [ ! -d node_modules/onnxruntime-node ] || [ ! -d node_modules/tsx ]; then
  echo "node_modules is missing; installing it with npm ci" >&2
  npm ci --no-progress >&2 || { echo "npm ci failed. Carry node_modules along where there is no network." >&2; exit 1; }
fi

gpu=no
if command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; then
  gpu=yes
  say gpu "$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tr '\n' ';')"
  say cuda "driver supports CUDA $(nvidia-smi | sed -n 's/.*CUDA[^:]*Version: *\([0-9.]*\).*/\1/p' | head -1)"
elif [ -e /dev/dri/renderD128 ]; then gpu=yes; say gpu "/dev/dri/renderD128"
elif [ "$(uname -s)" != Linux ]; then gpu=yes; say gpu "whatever the system has"
else say gpu none; fi
if command -v ldconfig >/dev/null; then
  say libraries "$(ldconfig -p | sed -n 's/^\s*\(lib\(cudart\|cublasLt\|cudnn\|cufft\|vulkan\)\.so\.[0-9]*\) .*/\1/p' | sort -u | tr '\n' ' ')"
fi
binaries=node_modules/onnxruntime-node/bin/napi-v6/linux/$(node -p process.arch)
for name in libonnxruntime_providers_cuda.so libonnxruntime_providers_shared.so; do
  [ -e "$binaries/$name" ] || say missing "$binaries/$name (for the provider cuda)"
done

software=/usr/lib/chromium
if [ "$gpu" = no ] && [ -z "${VK_DRIVER_FILES:-}" ] && [ -e "$software/vk_swiftshader_icd.json" ]; then
  say webgpu "on SwiftShader, a GPU in software: right or wrong shows, times mean nothing"
  export VK_DRIVER_FILES=$software/vk_swiftshader_icd.json VK_ICD_FILENAMES=$software/vk_swiftshader_icd.json
  export LD_LIBRARY_PATH=$software${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp}
fi
exec node --import tsx bench/gpu.ts --gpu "$gpu" "$@"
