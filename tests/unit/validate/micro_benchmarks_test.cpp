#include "validate/cpu/micro_benchmarks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/paths.hpp"
#include "validate/calibration/write.hpp"

namespace lamina::validate::cpu {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

model::WorkModel work_of(bool fused, int tensor_parallel) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  const scenario::Scenario scenario = scenario::load_text(
      "schema_version: 1\nmodel: gpt3-175b\ncluster: {node: dgx-h100, topology: nvlink_switch}\n"
      "strategy: {micro_batches: 1}\n",
      "test.yaml", tests::source_folder() / "scenarios", pipeline::plugins_of(catalogs),
      {{"strategy.tensor_parallel", std::to_string(tensor_parallel)},
       {"strategy.fused_attention", fused ? "true" : "false"}});
  return model::work_model(scenario, catalogs.cost_models);
}

MicroPlan plan_of(double seconds, int tensor_parallel = 8) {
  return micro_plan(work_of(true, tensor_parallel), work_of(false, tensor_parallel), seconds);
}

/// A machine of 100 GFLOP/s in fp32 and 400 in bf16, copies at 10 GB/s, messages of 20 us + bytes / 1 GB/s.
MicroTiming timing(MicroGroup group, std::size_t index, double seconds, bool half = false) {
  MicroTiming result;
  result.group = group;
  result.half = half ? 1 : 0;
  result.index = static_cast<std::int32_t>(index);
  result.seconds = seconds;
  result.spread = 0.02;
  result.samples = 9;
  result.alone_s = seconds / 2;
  result.stream_s = seconds;
  result.sender_cpu_s = seconds / 4;
  result.receiver_cpu_s = seconds / 3;
  return result;
}

MicroResult machine(const MicroPlan& plan) {
  constexpr double kHalfRate = 400e9;
  constexpr double kSingleRate = 100e9;
  MicroResult result;
  for (const bool half : {true, false}) {
    const double rate = half ? kHalfRate : kSingleRate;
    for (std::size_t i = 0; i < plan.products.size(); ++i) {
      result.timings.push_back(timing(MicroGroup::kProducts, i, plan.products[i].flops / rate, half));
    }
    for (std::size_t i = 0; i < plan.attention.size(); ++i) {
      result.timings.push_back(timing(MicroGroup::kAttention, i, plan.attention[i].flops / rate, half));
    }
  }
  const auto sizes = [&](MicroGroup group, const std::vector<std::size_t>& list, double latency, double rate) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      result.timings.push_back(timing(group, i, latency + static_cast<double>(list[i]) / rate));
    }
  };
  sizes(MicroGroup::kCopies, plan.copies, 0, 10e9);
  sizes(MicroGroup::kFileWrites, plan.files, 1e-3, 1e9);
  sizes(MicroGroup::kFileReads, plan.files, 1e-3, 2e9);
  sizes(MicroGroup::kMessages, plan.messages, 20e-6, 1e9);
  sizes(MicroGroup::kReductions, plan.messages, 40e-6, 1e9);
  sizes(MicroGroup::kBeside, plan.beside, 1e-3, 1e9);
  result.engines = {"library, bf16", "library, float32"};
  result.files = "direct";
  result.processor = "a processor";
  result.load = "0.1 before, 0.2 after";
  result.cores = 2;
  result.memory_bytes = 16.0 * (std::uint64_t{1} << 30);
  return result;
}

const calibration::Entry& entry_of(const calibration::Calibration& made, calibration::Kind kind,
                                   const std::string& name) {
  const auto found = std::find_if(made.entries.begin(), made.entries.end(), [&](const calibration::Entry& entry) {
    return entry.kind == kind && entry.name == name;
  });
  if (found == made.entries.end()) {
    throw error::InternalError("no entry " + name);
  }
  return *found;
}

double constant_of(const calibration::Entry& entry, const std::string& key) {
  const auto found = std::find_if(entry.constants.begin(), entry.constants.end(),
                                  [&](const calibration::Constant& constant) { return constant.key == key; });
  return found == entry.constants.end() ? std::nan("") : found->value;
}

TEST(MicroPlan, HasTheLayersProductsInThreePassesEachOnce) {
  const MicroPlan plan = plan_of(60);
  std::set<std::tuple<model::Pass, std::int64_t, std::int64_t, std::int64_t>> shapes;
  std::set<std::pair<std::int64_t, std::int64_t>> forward;
  for (const MicroCase& one : plan.products) {
    ASSERT_THAT(one.calls, SizeIs(1));
    const model::Kernel& kernel = one.calls.front().kernel;
    EXPECT_TRUE(shapes.insert({one.calls.front().pass, kernel.m, kernel.n, kernel.k}).second) << one.name;
    EXPECT_DOUBLE_EQ(one.flops, 2.0 * static_cast<double>(kernel.m * kernel.n * kernel.k));
    if (one.calls.front().pass == model::Pass::kForward) {
      forward.insert({kernel.n, kernel.k});
    }
  }
  // GPT-3 175B (arXiv 2005.14165, table 2.1): hidden 12288, MLP four times that; an eighth of each matrix.
  EXPECT_TRUE(forward.contains({3 * 12288 / 8, 12288}));
  EXPECT_TRUE(forward.contains({12288, 12288 / 8}));
  EXPECT_TRUE(forward.contains({4 * 12288 / 8, 12288}));
  EXPECT_TRUE(forward.contains({12288, 4 * 12288 / 8}));
  EXPECT_TRUE(shapes.contains({model::Pass::kForward, 1024, 1024, 1024}));
}

TEST(MicroPlan, HasTheHeadsProductsAndCutsTheirVocabularyLast) {
  using Sides = std::multiset<std::int64_t>;
  const auto heads = [](const MicroPlan& plan) {
    std::map<model::Pass, Sides> sides;
    for (const MicroCase& one : plan.products) {
      const model::Kernel& kernel = one.calls.front().kernel;
      if (one.name == "logits") {
        sides[one.calls.front().pass] = {kernel.m, kernel.n, kernel.k};
      }
    }
    return sides;
  };
  const auto each = [](const Sides& sides) {
    return std::map<model::Pass, Sides>{
        {model::Pass::kForward, sides}, {model::Pass::kInputGradient, sides}, {model::Pass::kWeightGradient, sides}};
  };
  // GPT-2's vocabulary of 50,257; ranks of a tensor group round their part up.
  EXPECT_EQ(heads(plan_of(3600)), each({6283, 2048, 12288}));
  EXPECT_EQ(heads(plan_of(1)), each({6283, 128, 12288}));  // half of it is below 4,096
  EXPECT_EQ(heads(plan_of(1, 1)), each({50257 / 8, 128, 12288}));
}

TEST(MicroPlan, CutsTokensAndHeadsToTheTimeButNotBelow128Tokens) {
  const MicroPlan shorter = plan_of(1);
  const MicroPlan longer = plan_of(3600);
  ASSERT_EQ(shorter.attention.size(), longer.attention.size());
  EXPECT_THAT(longer.attention, SizeIs(4));  // forward and backward, fused and not
  for (std::size_t i = 0; i < shorter.attention.size(); ++i) {
    EXPECT_LT(shorter.attention[i].flops, longer.attention[i].flops);
    EXPECT_EQ(longer.attention[i].calls.front().kernel.batch, 96 / 8);  // all heads of the rank
    EXPECT_EQ(shorter.attention[i].calls.front().kernel.m, 2048);
  }
  const auto least = [](const MicroPlan& plan) {
    std::int64_t tokens = 2048;
    for (const MicroCase& one : plan.products) {
      if (one.name != "square" && one.name != "thin") {
        const bool sums = one.calls.front().pass == model::Pass::kWeightGradient;
        tokens = std::min(tokens, sums ? one.calls.front().kernel.k : one.calls.front().kernel.m);
      }
    }
    return tokens;
  };
  EXPECT_EQ(least(shorter), 128);
  EXPECT_EQ(least(longer), 2048);
}

TEST(MicroCalibration, MakesHardwareOfWhatAKnownMachineDoes) {
  const MicroPlan plan = plan_of(60);
  const calibration::Calibration made = micro_calibration(plan, machine(plan), "this-core");
  using calibration::Kind;
  const calibration::Entry& core = entry_of(made, Kind::kAccelerator, "this-core");
  EXPECT_NEAR(constant_of(core, "peak"), 400e9, 1e3);
  EXPECT_NEAR(constant_of(core, "memory_bandwidth"), 20e9, 1e3);  // 10 GB/s read and 10 written
  EXPECT_NEAR(constant_of(entry_of(made, Kind::kAccelerator, "this-core-fp32"), "peak"), 100e9, 1e3);
  const calibration::Entry& link = entry_of(made, Kind::kDeviceLink, "this-core");
  EXPECT_NEAR(constant_of(link, "bandwidth"), 1e9, 1e6);
  EXPECT_NEAR(constant_of(link, "latency"), 20e-6, 1e-8);
  const calibration::Entry& network = entry_of(made, Kind::kNetwork, "this-core");
  EXPECT_NEAR(constant_of(network, "bandwidth"), 1e9, 1e6);
  EXPECT_NEAR(constant_of(network, "port_latency"), 20e-6, 1e-8);
  // Two ranks: 2 hops, and 2 (n - 1) / n = 1 times the buffer over a link.
  EXPECT_NEAR(constant_of(entry_of(made, Kind::kDeviceLink, "this-core-ring"), "latency"), 20e-6, 1e-8);
  EXPECT_NEAR(constant_of(entry_of(made, Kind::kHostPath, "this-core"), "bandwidth"), 10e9, 1e7);
  EXPECT_NEAR(constant_of(entry_of(made, Kind::kHostPath, "this-core-file-read"), "bandwidth"), 2e9, 1e7);
  EXPECT_NEAR(constant_of(entry_of(made, Kind::kHostPath, "this-core-file-write"), "latency"), 1e-3, 1e-6);
  ASSERT_THAT(made.measurements, SizeIs(4));
  EXPECT_THAT(made.measurements[0].table.rows, SizeIs(2 * plan.products.size()));
  EXPECT_NEAR(made.measurements[3].table.rows.front().back(), 0.5, 1e-9);  // twice the time: half the core
  EXPECT_TRUE(made.skipped.empty());
}

TEST(MicroCalibration, SaysWhatWasNotMeasuredAndGoesWithoutBf16) {
  const MicroPlan plan = plan_of(60);
  MicroResult result = machine(plan);
  for (MicroTiming& row : result.timings) {
    row.fate = row.half != 0                          ? MicroFate::kNotSupported
               : row.group == MicroGroup::kReductions ? MicroFate::kNoTime
               : row.group == MicroGroup::kFileWrites ? MicroFate::kNoMemory
                                                      : row.fate;
  }
  const calibration::Calibration made = micro_calibration(plan, result, "mine");
  EXPECT_NEAR(constant_of(entry_of(made, calibration::Kind::kAccelerator, "mine"), "peak"), 100e9, 1e3);
  EXPECT_THROW((void)entry_of(made, calibration::Kind::kDeviceLink, "mine-ring"), error::InternalError);
  EXPECT_THAT(made.skipped, testing::IsSupersetOf({HasSubstr("--seconds"), HasSubstr("cannot do this type"),
                                                   HasSubstr("too little memory")}));
}

TEST(MicroWarnings, NameTheKindThatIsUnsteadyAndASharedCore) {
  const MicroPlan plan = plan_of(60);
  MicroResult result = machine(plan);
  EXPECT_TRUE(micro_warnings(result).empty());
  result.timings.back().spread = 0.25;
  result.cores = 1;
  const std::vector<std::string> warnings = micro_warnings(result);
  ASSERT_THAT(warnings, SizeIs(2));
  EXPECT_THAT(warnings[0], HasSubstr("one core"));
  EXPECT_THAT(warnings[1], testing::AllOf(HasSubstr("products beside messages"), HasSubstr("25.0 %")));
}

}  // namespace
}  // namespace lamina::validate::cpu
