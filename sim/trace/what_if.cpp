#include "sim/trace/what_if.hpp"

#include <cstddef>

namespace lamina::trace {
namespace {

template <class Function>
void for_each_micro_batch(const Times& times, bool backward, int stage, Function function) {
  for (int micro_batch = 0; micro_batch < times.compute.micro_batches(); ++micro_batch) {
    function(Pass{backward, stage, micro_batch});
  }
}

void make_alike(std::vector<Times>& all, PassTable Times::*table, bool backward, int stage) {
  std::vector<double> values;
  for (const Times& times : all) {
    for_each_micro_batch(times, backward, stage, [&](const Pass& pass) { values.push_back((times.*table).at(pass)); });
  }
  const double value = median(std::move(values));
  for (Times& times : all) {
    for_each_micro_batch(times, backward, stage, [&](const Pass& pass) { (times.*table).at(pass) = value; });
  }
}

}  // namespace

std::vector<Times> without_stragglers(const std::vector<MeasuredReplica>& replicas) {
  std::vector<Times> result;
  for (const MeasuredReplica& replica : replicas) {
    result.push_back(replica.times);
  }
  if (result.empty()) {
    return result;
  }
  for (const bool backward : {false, true}) {
    for (int stage = 0; stage < result.front().compute.stages(); ++stage) {
      make_alike(result, &Times::compute, backward, stage);
      make_alike(result, &Times::transfer, backward, stage);
    }
  }
  return result;
}

std::vector<Times> balanced(const std::vector<MeasuredReplica>& replicas) {
  std::vector<Times> result = without_stragglers(replicas);
  for (Times& times : result) {
    for (const bool backward : {false, true}) {
      double sum = 0;
      for (int stage = 0; stage < times.compute.stages(); ++stage) {
        sum += times.compute.at({backward, stage, 0});
      }
      for (int stage = 0; stage < times.compute.stages(); ++stage) {
        for_each_micro_batch(times, backward, stage,
                             [&](const Pass& pass) { times.compute.at(pass) = sum / times.compute.stages(); });
      }
    }
  }
  return result;
}

}  // namespace lamina::trace
