#!/usr/bin/env bash
# Run each target of tests/fuzz under atheris for so many seconds: fuzz.sh PYTHON SECONDS
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1 seconds=$2
"$python" -m pip install --quiet 'atheris>=3,<4'
mkdir -p .fuzz
for target in $("$python" tests/fuzz/targets.py --list); do
    echo "== $target"
    mkdir -p ".fuzz/$target"
    "$python" tests/fuzz/seeds.py ".fuzz/$target" "$target"
    "$python" tests/fuzz/targets.py "$target" ".fuzz/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096
done
