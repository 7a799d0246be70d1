#!/usr/bin/env bash
# Installs what is missing, builds everything and runs the whole test suite. Arguments go to ctest:
# scripts/test.sh -L unit
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

if [ "${1:-}" = --help ] || [ "${1:-}" = -h ]; then
  cat <<HELP
usage: scripts/test.sh [CTEST OPTION]...

Installs missing Debian packages, builds Lamina with its tests and runs them all through ctest.
The exit status is ctest's:

  scripts/test.sh
  scripts/test.sh -L unit
  scripts/test.sh -R RingAllReduce
HELP
  exit 0
fi

lamina_install_packages
lamina_build
lamina_say "testing"
exec ctest --preset release "$@" </dev/null
