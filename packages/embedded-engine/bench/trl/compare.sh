#!/bin/sh
# Installs TRL with torch into a temporary virtual environment (about 5 GB), and compares its training steps with this
# engine's. VENV=<directory> keeps the environment. Arguments are passed to steps.ts.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ -n "${VENV:-}" ]; then
  venv=$VENV
else
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/heddle-trl-XXXXXX")
  trap 'rm -rf "$scratch"' EXIT INT TERM
  venv=$scratch/venv
fi
if [ ! -x "$venv/bin/python" ]; then
  "${PYTHON:-python3}" -m venv "$venv"
fi
# The torch of the default index also runs on the CPU. TRL's GRPO trainer imports requests without depending on it.
"$venv/bin/pip" install --quiet "trl==1.13.0" "torch==2.13.0" "transformers==5.23.0" requests
cd "$here/../../../.."
node --import tsx -C @heddle/source packages/embedded-engine/bench/steps.ts --python "$venv/bin/python" "$@"
