#!/usr/bin/env bash
# Checks the CUDA back end on the GPUs of this machine: kernels, memory accesses, and real executions against the model.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scenarios=$root/scenarios/validate
carried=
started=$SECONDS

usage() {
  cat <<HELP
usage: scripts/gpu-check.sh [--carried BUILD] [OUT]

Builds the command with its CUDA back end for the GPU of this machine (or takes BUILD, a build folder that was carried
here), and runs, in under eight minutes:

  device      what the GPUs are
  kernels     every kernel against a reference on the processor
  sanitizer   the same under compute-sanitizer, where it is installed
  scenarios   launch gaps, offload overlap, four ranks on one GPU that share its multiprocessors or do not
  calibration products, copies and launches of one GPU as a hardware file
  several     with two GPUs or more: messages, collectives and a pipeline over NCCL

Reports go to OUT (default: out/gpu-check): summary.json, kernels.json, a folder per scenario, a log per step.
Exit status: 0 all steps done, 1 one failed, 77 there is no usable GPU.
HELP
}

say() { printf '==> %s\n' "$*" >&2; }

skip_all() {
  printf 'skipped: %s\n' "$*" >&2
  exit 77
}

while [ $# -gt 0 ]; do
  case $1 in
    -h | --help)
      usage
      exit 0
      ;;
    --carried)
      [ $# -gt 1 ] || { usage >&2; exit 2; }
      carried=$(cd "$2" && pwd)
      shift
      ;;
    -*)
      usage >&2
      exit 2
      ;;
    *) break ;;
  esac
  shift
done
out=${1:-$root/out/gpu-check}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# One line per GPU: index, compute capability.
gpus() { nvidia-smi --query-gpu=index,compute_cap --format=csv,noheader 2>/dev/null || true; }

build() {
  local capability
  gpus | grep -q . || skip_all "nvidia-smi shows no GPU"
  capability=$(gpus | head -n 1 | sed 's/.*, *//; s/\.//')
  say "building for compute capability $capability"
  if ! { cmake -S "$root" -B "$root/build/gpu" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLAMINA_WITH_CUDA=ON \
    "-DLAMINA_CUDA_ARCHITECTURES=$capability-real" </dev/null >"$out/build.log" 2>&1 &&
    cmake --build "$root/build/gpu" --target lamina lamina_cuda_plugin lamina_cuda_check </dev/null >>"$out/build.log" 2>&1; }; then
    tail -n 30 "$out/build.log" >&2
    printf 'error: the build failed; the whole log is %s\n' "$out/build.log" >&2
    exit 1
  fi
  carried=$root/build/gpu
}

[ -n "$carried" ] || build
lamina=$carried/bin/lamina
check=$carried/bin/lamina_cuda_check
for program in "$lamina" "$check"; do
  [ -x "$program" ] || skip_all "$program is not there: this build has no CUDA back end"
done
export LAMINA_PLUGINS=$carried/lib/lamina

results=()
failed=0
note() { # name result seconds remark
  results+=("$(printf '  {"name": "%s", "result": "%s", "seconds": %d, "remark": "%s"}' "$1" "$2" "$3" "$4")")
  say "$1: $2${4:+ ($4)}, $3 s"
  [ "$2" != failed ] || failed=1
}

# step NAME LIMIT COMMAND...: standard output to NAME.json, standard error to NAME.log.
step() {
  local name=$1 limit=$2 begin=$SECONDS status=0
  shift 2
  timeout --kill-after=10 "$limit" "$@" >"$out/$name.json" 2>"$out/$name.log" </dev/null || status=$?
  case $status in
    0) note "$name" passed $((SECONDS - begin)) "" ;;
    124 | 137) note "$name" failed $((SECONDS - begin)) "not done within $limit s" ;;
    *)
      tail -n 5 "$out/$name.log" >&2
      note "$name" failed $((SECONDS - begin)) "status $status, see $name.log"
      ;;
  esac
}

skip() { note "$1" skipped 0 "$2"; }

status=0
timeout --kill-after=10 60 "$check" --json >"$out/kernels.json" 2>"$out/kernels.log" </dev/null || status=$?
if [ "$status" = 77 ]; then
  skip_all "$(sed 's/^skipped: //' "$out/kernels.log")"
fi
if [ "$status" = 0 ]; then
  note kernels passed "$((SECONDS - started))" ""
else
  tail -n 20 "$out/kernels.log" >&2
  note kernels failed "$((SECONDS - started))" "status $status, see kernels.log"
fi
nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.sm,clocks.max.sm,power.limit,pcie.link.gen.current,pcie.link.width.current \
  --format=csv >"$out/device.csv" 2>/dev/null || true

if command -v compute-sanitizer >/dev/null; then
  step sanitizer 120 compute-sanitizer --tool memcheck --error-exitcode 9 "$check" --json
else
  skip sanitizer "compute-sanitizer is not installed"
fi

validate() { # name file arguments...
  local name=$1 file=$2
  shift 2
  step "$name" 60 "$lamina" validate "$scenarios/$file" --backend cuda --format json --repeat 5 -o "$out/$name" "$@"
}


step calibration 60 "$lamina" calibrate --device cuda --seconds 15 --format json

first=${CUDA_VISIBLE_DEVICES:-0}
all=${CUDA_VISIBLE_DEVICES-unset}
export CUDA_VISIBLE_DEVICES=${first%%,*}
validate launch-gaps gpu-launch-gaps.yaml
validate offload-overlap gpu-offload-overlap.yaml
validate sharing-multiprocessors gpu-virtual-ranks.yaml
validate not-sharing-multiprocessors gpu-virtual-ranks.yaml --hold-compute
if [ "$all" = unset ]; then unset CUDA_VISIBLE_DEVICES; else export CUDA_VISIBLE_DEVICES=$all; fi

count=$(gpus | grep -c . || true)
if [ "$count" -ge 2 ]; then
  validate nccl-messages gpu-virtual-ranks.yaml --set strategy.pipeline_parallel=2
  validate nccl-collectives gpu-virtual-ranks.yaml --set strategy.pipeline_parallel=1 --set strategy.data_parallel=2 \
    --set strategy.schedule=accumulate --set strategy.sharding=full
else
  skip nccl-messages "needs 2 GPUs, there is $count"
  skip nccl-collectives "needs 2 GPUs, there is $count"
fi
if [ "$count" -ge 4 ]; then
  validate nccl-pipeline gpu-virtual-ranks.yaml
else
  skip nccl-pipeline "needs 4 GPUs, there are $count"
fi

{
  printf '{"schema": "lamina.gpu-check/1", "seconds": %d, "steps": [\n' "$((SECONDS - started))"
  for i in "${!results[@]}"; do
    printf '%s%s\n' "${results[$i]}" "$([ "$i" -lt $((${#results[@]} - 1)) ] && printf ,)"
  done
  printf ']}\n'
} >"$out/summary.json"
say "reports are in $out"
exit "$failed"
