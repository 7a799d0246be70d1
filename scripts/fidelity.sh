#!/usr/bin/env bash
# Writes docs/fidelity.md and docs/fidelity-collectives-*.md: how far Lamina is from every measured dataset of the project.
set -euo pipefail

usage() {
  cat <<HELP
usage: scripts/fidelity.sh DATA_DIRECTORY [OPTION]...

Builds the command and scores all datasets of scenarios/measured, whose tables are in DATA_DIRECTORY: training runs into
docs/fidelity.md, collectives by size into docs/fidelity-collectives-large.md (from 1 MB) and -small.md. Options go to lamina
score for training runs; without any, their page has a column for the cost model "ideal", which has none of the constants:

  scripts/fidelity.sh measured
  scripts/fidelity.sh measured --without simulation.cost_model=roofline
HELP
}

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
  usage
  exit 0
fi
if [ $# -eq 0 ] || [ ! -d "$1" ]; then
  usage >&2
  exit 2
fi
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

data=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- --without simulation.cost_model=ideal
cd "$lamina_root"
lamina_build lamina
score() {
  build/release/bin/lamina score --data "$data" --format markdown "$@"
}
mapfile -t collectives < <(printf '%s\n' scenarios/measured/nccl-*.yaml)
mapfile -t runs < <(printf '%s\n' scenarios/measured/*.yaml | grep -v /nccl-)
score "${runs[@]}" --worst 3 "$@" -o docs/fidelity.md
score "${collectives[@]}" --worst 1 --rows "size_bytes >= 1e6" -o docs/fidelity-collectives-large.md
score "${collectives[@]}" --worst 1 --rows "size_bytes < 1e6" -o docs/fidelity-collectives-small.md
