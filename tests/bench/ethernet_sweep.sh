#!/usr/bin/env bash
# Is Ethernet enough? Measured and predicted steps of scenarios/validate/ethernet-*.yaml over link rates, with real sockets
# between shaped network namespaces. Wants a quiet machine of two cores; takes about ten minutes. CSV on standard output.
# usage: tests/bench/ethernet_sweep.sh LAMINA [REPEATS]
set -euo pipefail
lamina=$1
repeats=${2:-5}
source "$(dirname "${BASH_SOURCE[0]}")/validation_numbers.sh"

measure() {  # layout, scenario, rate, overrides...
  local json
  json=$(validate_json "$lamina" "$repeats" "$2" ethernet "$3" "${@:4}")
  printf '%s,%s,%s,%s,%s,%s\n' "$1" "$3" "$(number measured_s "$json")" "$(number predicted_s "$json")" \
    "$(number structural_s "$json")" "$(number calibration_spread "$json")"
}

echo "layout,rate,measured_s,predicted_s,structural_s,spread"
for rate in "100 Mbit/s" "200 Mbit/s" "500 Mbit/s" "1 Gbit/s" "2.5 Gbit/s" "10 Gbit/s"; do
  measure one_forward_one_backward ethernet-pipeline "$rate" strategy.schedule=one_forward_one_backward
  measure layered_modular ethernet-pipeline "$rate"
  measure plain_accumulation ethernet-accumulation "$rate" strategy.schedule=accumulate strategy.sharding=none
  measure layered_accumulation ethernet-accumulation "$rate" strategy.sharding=none
  measure plain_accumulation_sharded ethernet-accumulation "$rate" strategy.schedule=accumulate
  measure layered_accumulation_sharded ethernet-accumulation "$rate"
done
