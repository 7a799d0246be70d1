#!/usr/bin/env bash
# Measured against predicted steps on two cores of this machine: six schedules at three link rates, on emulated links and on
# shaped Ethernet. Wants a quiet machine; takes about seven minutes. CSV on standard output.
# usage: tests/bench/validation_matrix.sh LAMINA [REPEATS]
set -euo pipefail
lamina=$1
repeats=${2:-7}
source "$(dirname "${BASH_SOURCE[0]}")/validation_numbers.sh"

measure() {  # schedule, transport, rate, overrides...
  local json
  json=$(validate_json "$lamina" "$repeats" two-cores "$2" "$3" "${@:4}")
  printf '%s,%s,%s,%s,%s,%s,%s,%s\n' "$1" "$2" "$3" "$(number measured_s "$json")" "$(number error "$json")" \
    "$(number structural_error "$json")" "$(number calibration_spread "$json")" "$(number involuntary_switches "$json")"
}

echo "schedule,transport,rate,measured_s,error,structural_error,spread,switches"
for transport in memory ethernet; do
  for rate in "100 Mbit/s" "1 Gbit/s" "10 Gbit/s"; do
    for schedule in gpipe one_forward_one_backward interleaved layered_modular zero_bubble_h1; do
      measure "$schedule" "$transport" "$rate" "strategy.schedule=$schedule"
    done
    measure layered_full_sharding "$transport" "$rate" strategy.pipeline_parallel=1 strategy.data_parallel=2 \
      strategy.schedule=layered_modular strategy.sharding=full
  done
done
