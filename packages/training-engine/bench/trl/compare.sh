#!/bin/sh
# Installs TRL with torch into a virtual environment that is thrown away afterwards (about 5 GB while it runs), and compares
# its training steps with ours. VENV=<directory> keeps the environment there for the next time. Arguments go to steps.ts.
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
# The torch of the plain index also runs on the CPU; TRL's GRPO trainer imports requests without asking for it.
"$venv/bin/pip" install --quiet "trl==1.13.0" "torch==2.13.0" "transformers==5.23.0" requests
cd "$here/../../../.."
node --import tsx packages/training-engine/bench/steps.ts --python "$venv/bin/python" "$@"
