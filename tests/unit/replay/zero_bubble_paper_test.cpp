// The calculated bubble rates of Qi et al., "Zero Bubble Pipeline Parallelism" (arXiv 2401.10241, tables 5 and 8), by
// replay of our schedules with the durations of their table 9. Their rate is (cost - m (TF + TB + TW)) / cost, the cost
// being the longest span of a rank; TB is the input gradient, and a message is a pure delay Tcomm.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include "schedules/schedule.hpp"
#include "tests/support/paths.hpp"
#include "tests/unit/replay/unit_time_lowering.hpp"

namespace lamina::replay {
namespace {

using testing::UnitTimeLowering;
using testing::UnitTimes;

constexpr int kRanks = 8;

struct Row {
  std::string model;
  int micro_batches = 0;
  int chunks = 0;  ///< one layer each, ends counted: (22 + 2) / 8 and (30 + 2) / 8
  UnitTimes times;
  double message = 0;
  double score_terms = 0;  ///< 5 a s / h: activations of a layer are s b h (34 + this), of which W needs 32
  YAML::Node rates;

  [[nodiscard]] double work() const {
    return micro_batches * (times.forward + times.input_gradient + times.weight_gradient);
  }

  [[nodiscard]] double kept_for_weight_gradient() const { return 32 / (34 + score_terms); }
};

YAML::Node paper() {
  const auto file = tests::shared_folder() / "measured" / "zero_bubble_2401_10241_1.5B_6.2B.yaml";
  return std::filesystem::exists(file) ? YAML::LoadFile(file.string()) : YAML::Node();
}

std::vector<Row> rows_of(const YAML::Node& paper) {
  std::vector<Row> rows;
  for (const std::string model : {"1.5B", "6.2B"}) {
    const YAML::Node shape = paper["table3_models"][model];
    for (const auto& entry : paper["table9_profiled_ms"][model]) {
      const YAML::Node& ms = entry.second;
      Row row;
      row.model = model;
      row.micro_batches = entry.first.as<int>();
      row.chunks = (shape["layers"].as<int>() + 2) / kRanks;
      row.times = {ms[0].as<double>(), ms[1].as<double>(), ms[2].as<double>()};
      row.message = ms[3].as<double>();
      row.score_terms = 5 * shape["heads"].as<double>() * shape["seq"].as<double>() / shape["hidden"].as<double>();
      row.rates = paper["table5_bubble_rate_CALCULATED"][model][row.micro_batches];
      rows.push_back(row);
    }
  }
  return rows;
}

schedules::ScheduleTable table_of(const std::string& schedule, int ranks, const Row& row, int memory_limit = 0) {
  const int chunks = schedule == "interleaved" ? row.chunks : 1;
  schedules::ScheduleRequest request{ranks, row.micro_batches, ranks * chunks, {}};
  request.parameters.set_number("layers_per_chunk", 1);
  request.parameters.set_number("micro_batch_group_size", 0);
  request.parameters.set_number("memory_limit", memory_limit);
  request.parameters.set_choice("objective", "span");
  request.times = {row.times.forward, row.times.input_gradient, row.times.weight_gradient, row.message,
                   row.kept_for_weight_gradient()};
  const auto catalog = schedules::builtin_schedules();
  return catalog.find(schedule)->implementation->table(request).value();
}

double span_of(const schedules::ScheduleTable& table, const Row& row,
               const UnitTimeLowering::MessageFilter& left_out = {}) {
  const UnitTimeLowering lowering(table, row.message, row.times, left_out);
  return lowering.longest_span(lowering.scene.run());
}

double rate(double span, const Row& row) {
  return (span - row.work()) / span;
}

/// What the published figures of 1F1B-I leave out: rank 0 waits for the last rank (and the other way round in the
/// backward) only with the first micro-batch of each group of p, although the others come back one per forward and
/// backward. It can be read in the calculation that the authors published with their code.
UnitTimeLowering::MessageFilter later_wrap_arounds(int ranks) {
  return [ranks](int from, int to, int micro_batch) {
    return std::abs(from % ranks - to % ranks) == ranks - 1 && micro_batch % ranks != 0;
  };
}

/// Half of the last printed digit, and what the rounding of table 9 to a microsecond adds.
constexpr double kPrinted = 0.5e-4 + 0.05e-4;

TEST(ZeroBubblePaper, CalculatedBubbleRatesAreReproducedToThePrintedDigits) {
  const YAML::Node data = paper();
  if (data.IsNull()) {
    GTEST_SKIP() << "no measured tables beside the source tree";
  }
  const std::vector<Row> rows = rows_of(data);
  ASSERT_EQ(rows.size(), 6U);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.model + ", m = " + std::to_string(row.micro_batches));
    for (const auto& [published, ours] :
         {std::pair{"1F1B", "one_forward_one_backward"}, {"ZB-H1", "zero_bubble_h1"}, {"ZB-H2", "zero_bubble_h2"}}) {
      const double span = span_of(table_of(ours, kRanks, row), row);
      EXPECT_NEAR(rate(span, row), row.rates[published].as<double>(), kPrinted) << published;
    }
    const auto interleaved = table_of("interleaved", kRanks, row);
    const double published_span = span_of(interleaved, row, later_wrap_arounds(kRanks));
    EXPECT_NEAR(rate(published_span, row), row.rates["1F1B-I"].as<double>(), kPrinted);
    // With every message waited for, one more wrap-around of p messages is exposed.
    EXPECT_NEAR(span_of(interleaved, row), published_span + kRanks * row.message, 1e-9 * published_span);
  }
}

/// 1F1B over p ranks exposes 2 (p - 1) m / p + 2 (p - 2) messages when p divides m.
TEST(ZeroBubblePaper, HiddenCriticalPathOfOneForwardOneBackward) {
  const YAML::Node data = paper();
  if (data.IsNull()) {
    GTEST_SKIP() << "no measured tables beside the source tree";
  }
  for (const Row& row : rows_of(data)) {
    const double messages = 2.0 * (kRanks - 1) * row.micro_batches / kRanks + 2.0 * (kRanks - 2);
    const double expected = row.work() * (1 + (kRanks - 1.0) / row.micro_batches) + messages * row.message;
    EXPECT_NEAR(span_of(table_of("one_forward_one_backward", kRanks, row), row), expected, 1e-9 * expected);
  }
}

/// Table 8 (16 ranks, micro-batches of 6) has no durations. In units of TF + TB + TW = 1 two columns give Tcomm and TW:
/// 1F1B costs (p - 1) + (2 (p - 1) m / p + 2 (p - 2)) Tcomm and ZB-H1 (p - 1)(1 - 2 TW) + 4 (p - 1) Tcomm beyond m; the
/// other two columns must follow (TF = TB is of no consequence for them).
TEST(ZeroBubblePaper, RatesOfTheSecondSetUpFollowFromTwoOfTheirColumns) {
  const YAML::Node data = paper();
  if (data.IsNull()) {
    GTEST_SKIP() << "no measured tables beside the source tree";
  }
  const YAML::Node table8 = data["table8_bubble_rate_CALCULATED_zbv_setup"]["6.2B"];
  const int p = table8["pp"].as<int>();
  for (const int m : {48, 64, 128}) {
    SCOPED_TRACE(m);
    const YAML::Node rates = table8[m];
    const auto beyond_work = [&](const char* column) {
      const double printed = rates[column].as<double>();
      return m * printed / (1 - printed);
    };
    Row row;
    row.micro_batches = m;
    row.chunks = 2;
    row.message = (beyond_work("1F1B") - (p - 1)) / (2.0 * (p - 1) * m / p + 2.0 * (p - 2));
    const double weight_gradient = (1 - (beyond_work("ZB-H1") - 4 * (p - 1) * row.message) / (p - 1)) / 2;
    row.times = {(1 - weight_gradient) / 2, (1 - weight_gradient) / 2, weight_gradient};
    const double tolerance = 2e-4;  // the printed digits, through the two inversions
    EXPECT_NEAR(rate(span_of(table_of("zero_bubble_h2", p, row), row), row), rates["ZB-H2"].as<double>(), tolerance);
    const double interleaved = span_of(table_of("interleaved", p, row), row, later_wrap_arounds(p));
    EXPECT_NEAR(rate(interleaved, row), rates["1F1B-I"].as<double>(), tolerance);
  }
}

/// Most memory of a rank in the activations of one micro-batch, in issue order.
double peak_activations(const schedules::ScheduleTable& table, double kept_for_weight_gradient) {
  double peak = 0;
  for (const auto& actions : table.actions) {
    double alive = 0;
    for (const schedules::Action& action : actions) {
      if (action.type == schedules::ActionType::kForward) {
        alive += 1;
      } else if (action.type == schedules::ActionType::kInputGradient) {
        alive -= 1 - kept_for_weight_gradient;
      } else {
        alive -= kept_for_weight_gradient;
      }
      peak = std::max(peak, alive);
    }
  }
  return peak;
}

/// ZB-1p and ZB-2p come from the authors' search and integer program; ours is a search of its own.
TEST(ZeroBubblePaper, AutomaticScheduleIsWithinOnePointOfThePublishedOnes) {
  const YAML::Node data = paper();
  if (data.IsNull()) {
    GTEST_SKIP() << "no measured tables beside the source tree";
  }
  for (const Row& row : rows_of(data)) {
    SCOPED_TRACE(row.model + ", m = " + std::to_string(row.micro_batches));
    for (const auto& [published, limit] : {std::pair{"ZB-1p", kRanks}, {"ZB-2p", 2 * kRanks}}) {
      const auto table = table_of("zero_bubble_auto", kRanks, row, limit);
      EXPECT_LE(peak_activations(table, row.kept_for_weight_gradient()), limit + 1e-9);
      EXPECT_NEAR(rate(span_of(table, row), row), row.rates[published].as<double>(), 0.01) << published;
    }
  }
}

/// When all of a micro-batch's activations stay until its weight gradient, the last rank can put off at most
/// `memory_limit` weight gradients to the time in which its last input gradient goes back to rank 0, so that no
/// schedule is shorter than m (TF + TB + TW) + (p - 1)(TF + TB + 2 Tcomm) - (limit - 1) TW. We come within one message
/// per rank and a weight gradient.
TEST(ZeroBubblePaper, AutomaticScheduleIsNearTheBoundWhenDeferredWeightGradientsKeepEverything) {
  Row row;
  row.micro_batches = 32;
  row.times = {18.513, 18.086, 9.331};
  row.message = 0.626;
  row.score_terms = -2;  // 32 of 32 stay
  const double all = row.times.forward + row.times.input_gradient;
  const double bound =
      row.work() + (kRanks - 1) * (all + 2 * row.message) - (2 * kRanks - 1) * row.times.weight_gradient;
  const double span = span_of(table_of("zero_bubble_auto", kRanks, row, 2 * kRanks), row);
  EXPECT_GE(span, bound * (1 - 1e-9));
  EXPECT_LE(span, bound + (kRanks - 1) * row.message + row.times.weight_gradient);
}

}  // namespace
}  // namespace lamina::replay
