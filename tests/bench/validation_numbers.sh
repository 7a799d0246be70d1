# Sourced by the benchmarks of validate: one run, and numbers out of its JSON.

lamina_scenarios=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scenarios/validate" && pwd)

# validate_json LAMINA REPEATS SCENARIO TRANSPORT RATE [KEY=VALUE]...
validate_json() {
  local lamina=$1 repeats=$2 scenario=$3 transport=$4 rate=$5 sets=() change
  shift 5
  for change in "$@"; do
    sets+=(--set "$change")
  done
  "$lamina" validate "$lamina_scenarios/$scenario.yaml" --backend cpu --transport "$transport" --repeat "$repeats" \
    --format json --set "cluster.network.bandwidth=$rate" "${sets[@]}"
}

# The number that follows "key": in a JSON document; numbers of the step stand first.
number() { grep -m1 "\"$1\":" <<<"$2" | sed 's/.*: *//; s/,$//'; }
