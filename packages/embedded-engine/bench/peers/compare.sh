#!/bin/sh
# Installs transformers with torch (about 5 GB) and node-llama-cpp (about 0.7 GB) into a temporary directory, and compares what they
# sample in a second with this engine. SCRATCH=<directory> keeps them. Arguments are passed to rows.ts.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ -n "${SCRATCH:-}" ]; then
  scratch=$SCRATCH
  mkdir -p "$scratch"
else
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/heddle-peers-XXXXXX")
  trap 'rm -rf "$scratch"' EXIT INT TERM
fi
if [ ! -x "$scratch/venv/bin/python" ]; then
  "${PYTHON:-python3}" -m venv "$scratch/venv"
  "$scratch/venv/bin/pip" install --quiet "torch==2.13.0" "transformers==5.19.0" gguf
fi
if [ ! -d "$scratch/node_modules/node-llama-cpp" ]; then
  # Prebuilt libraries are in the package; the install script would download others.
  npm install --prefix "$scratch" --ignore-scripts --no-audit --no-fund --silent node-llama-cpp@3.22.1
fi
shape='{"vocabularySize":151936,"hiddenSize":896,"layers":24,"heads":14,"keyValueHeads":2,"feedForwardSize":4864}'
[ -f "$scratch/model.gguf" ] || "$scratch/venv/bin/python" "$here/llama-cpp-model.py" "$shape" "$scratch/model.gguf"
cd "$here/../../../.."
node --import tsx -C @heddle/source packages/embedded-engine/bench/rows.ts --python "$scratch/venv/bin/python" \
  --llama "$scratch/node_modules/node-llama-cpp/dist/index.js" --gguf "$scratch/model.gguf" "$@"
