#!/usr/bin/env bash
# Writes docs/fidelity.md: how far Lamina is from every measured dataset of the project.
set -euo pipefail

usage() {
  cat <<HELP
usage: scripts/fidelity.sh DATA_DIRECTORY [OPTION]...

Builds the command and scores all datasets of scenarios/measured, whose tables are in DATA_DIRECTORY, into docs/fidelity.md.
Options go to lamina score; without any, the page has a column for the cost model "ideal", which has none of the constants:

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
exec build/release/bin/lamina score scenarios/measured --data "$data" --format markdown --worst 3 "$@" -o docs/fidelity.md
