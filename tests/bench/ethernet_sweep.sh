#!/usr/bin/env bash
# Is Ethernet enough? Measured and predicted steps of scenarios/validate/ethernet-*.yaml over link rates, with real sockets
# between shaped network namespaces. Wants a quiet machine of two cores; takes about five minutes each. CSV on standard
# output, for `lamina plot FILE --x rate --y measured_s --y predicted_s --by layout -o FILE.svg`.
# usage: tests/bench/ethernet_sweep.sh LAMINA pipeline|accumulation [REPEATS]
set -euo pipefail
lamina=$1
which=$2
repeats=${3:-5}
source "$(dirname "${BASH_SOURCE[0]}")/validation_numbers.sh"

measure() {  # layout, rate, overrides...
  local json
  json=$(validate_json "$lamina" "$repeats" "ethernet-$which" ethernet "$2" "${@:3}")
  printf '"%s",%s,%s,%s,%s,%s\n' "$1" "$2" "$(number measured_s "$json")" "$(number predicted_s "$json")" \
    "$(number structural_s "$json")" "$(number calibration_spread "$json")"
}

echo "layout,rate,measured_s,predicted_s,structural_s,spread"
case $which in
  pipeline)
    for rate in "100 Mbit/s" "200 Mbit/s" "300 Mbit/s" "400 Mbit/s" "500 Mbit/s" "600 Mbit/s" "700 Mbit/s" "800 Mbit/s" \
      "1 Gbit/s" "2.5 Gbit/s" "10 Gbit/s"; do
      measure one_forward_one_backward "$rate" strategy.schedule=one_forward_one_backward
      measure layered_modular "$rate"
    done
    ;;
  accumulation)
    for rate in "200 Mbit/s" "350 Mbit/s" "500 Mbit/s" "700 Mbit/s" "1 Gbit/s" "2.5 Gbit/s" "5 Gbit/s" "10 Gbit/s"; do
      measure "plain, not sharded" "$rate" strategy.schedule=accumulate strategy.sharding=none
      measure "layered, not sharded" "$rate" strategy.sharding=none
      measure "plain, sharded" "$rate" strategy.schedule=accumulate
      measure "layered, sharded" "$rate"
    done
    ;;
  *)
    echo "pipeline or accumulation, not $which" >&2
    exit 2
    ;;
esac
