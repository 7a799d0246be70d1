#!/usr/bin/env bash
# Installs what is missing, builds Lamina, runs scenarios/quickstart.yaml and prints the report. Further arguments go to
# `lamina run`: scripts/quickstart.sh --set strategy.micro_batches=64
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
  cat <<HELP
usage: scripts/quickstart.sh [OPTION]...

Installs missing Debian packages, builds Lamina and runs scenarios/quickstart.yaml.
Options are passed on to "lamina run":

  scripts/quickstart.sh
  scripts/quickstart.sh --set strategy.micro_batches=64
  scripts/quickstart.sh --format json
HELP
  exit 0
fi

lamina_install_packages
lamina_build lamina
lamina_say "running scenarios/quickstart.yaml"
exec build/release/bin/lamina run scenarios/quickstart.yaml "$@"
