#include "sim/draw/replay_chart.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/draw/svg.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/random_scenario.hpp"
#include "tests/unit/draw/chart_fixtures.hpp"
#include "tests/unit/draw/svg_reader.hpp"

namespace lamina::draw {
namespace {

using graph::OperationKind;
using graph::Phase;
using testing::boxes;

/// Pipeline ranks with a compute, a send and a data stream each, and operations where the test puts them.
class Recording {
 public:
  explicit Recording(int ranks, int replicas = 1) : programs_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      programs_[static_cast<std::size_t>(rank)].streams = {{graph::StreamKind::kCompute, "compute"},
                                                           {graph::StreamKind::kPipelineSend, "send"},
                                                           {graph::StreamKind::kPipelineSend, "send back"},
                                                           {graph::StreamKind::kData, "data"}};
      for (int replica = 0; replica < replicas; ++replica) {
        deployment_.ranks.emplace_back();
        deployment_.ranks.back().program = rank;
        deployment_.ranks.back().data = replica;
      }
    }
    timeline_.spans.resize(deployment_.ranks.size());
  }

  void compute(Phase phase, int stage, int micro_batch, double start, double end) {
    add(OperationKind::kCompute, phase, 0, stage, micro_batch, start, end);
  }

  void add(OperationKind kind, Phase phase, int stream, int stage, int micro_batch, double start, double end) {
    graph::Operation operation;
    operation.kind = kind;
    operation.phase = phase;
    operation.stream = static_cast<std::uint16_t>(stream);
    operation.stage = stage;
    operation.micro_batch = micro_batch;
    programs_.front().operations.push_back(operation);
    for (std::size_t rank = 0; rank < deployment_.ranks.size(); ++rank) {
      if (deployment_.ranks[rank].program == 0) {
        timeline_.spans[rank].push_back({start, end});
      }
    }
    timeline_.end_s = std::max(timeline_.end_s, end);
  }

  /// The rank's operations take `factor` times as long, from the start of the step on.
  void slow_down(std::size_t rank, double factor) {
    for (timeline::Span& span : timeline_.spans[rank]) {
      span = {span.start * factor, span.end * factor};
      timeline_.end_s = std::max(timeline_.end_s, span.end);
    }
  }

  void add_channel(bool gradients) { programs_.front().channels.push_back({0, 0, true, gradients}); }

  [[nodiscard]] Chart chart(const Window& window = {}) const {
    graph::OperationGraph graph;
    graph.programs = programs_;
    return replay_chart(graph, deployment_, timeline_, window);
  }

 private:
  std::vector<graph::Program> programs_;
  deployment::Deployment deployment_;
  timeline::Timeline timeline_;
};

/// Without what the test does not look at.
std::vector<std::tuple<Kind, double, double, bool>> shape_of(const Lane& lane) {
  std::vector<std::tuple<Kind, double, double, bool>> shape;
  for (const Box& box : lane.boxes) {
    shape.emplace_back(box.kind, box.start, box.end, box.numbered);
  }
  return shape;
}

using ::testing::ElementsAre;
using ::testing::FieldsAre;
using ::testing::IsEmpty;

TEST(ReplayChart, JoinsTheLayersOfAnActionWithRecomputationInFront) {
  Recording recording(1);
  recording.compute(Phase::kForward, 0, 0, 0, 1);
  recording.compute(Phase::kForward, 0, 0, 1, 2);
  recording.compute(Phase::kRecompute, 0, 0, 2, 3);
  recording.compute(Phase::kBackward, 0, 0, 3, 5);
  recording.compute(Phase::kRecompute, 0, 0, 5, 6);
  recording.compute(Phase::kBackward, 0, 0, 6, 8);
  recording.compute(Phase::kUpdate, 0, -1, 8, 9);
  EXPECT_THAT(shape_of(recording.chart().rows[0].lanes[0]),
              ElementsAre(FieldsAre(Kind::kForward, 0, 2, true), FieldsAre(Kind::kRecompute, 2, 4, false),
                          FieldsAre(Kind::kBackward, 4, 8, true), FieldsAre(Kind::kUpdate, 8, 9, false)));
}

TEST(ReplayChart, KeepsMicroBatchesAndStagesApart) {
  Recording recording(1);
  recording.compute(Phase::kForward, 0, 0, 0, 1);
  recording.compute(Phase::kForward, 0, 1, 1, 2);
  recording.compute(Phase::kForward, 2, 1, 2, 3);
  const Chart chart = recording.chart();
  ASSERT_EQ(boxes(chart, 0).size(), 3U);
  EXPECT_EQ(boxes(chart, 0)[1].micro_batch, 1);
  EXPECT_EQ(boxes(chart, 0)[2].stage, 2);
  EXPECT_EQ(boxes(chart, 0)[2].shade, 1);
  EXPECT_EQ(chart.shades, 2);
}

TEST(ReplayChart, BreaksAnActionWhereComputeStandsStill) {
  Recording recording(1);
  recording.compute(Phase::kInputGradient, 0, 3, 0, 1);
  recording.compute(Phase::kInputGradient, 0, 3, 2, 5);
  recording.compute(Phase::kWeightGradient, 0, 3, 5, 6);
  EXPECT_THAT(shape_of(recording.chart().rows[0].lanes[0]),
              ElementsAre(FieldsAre(Kind::kInputGradient, 0, 1, false), FieldsAre(Kind::kInputGradient, 2, 5, true),
                          FieldsAre(Kind::kWeightGradient, 5, 6, true)));
}

TEST(ReplayChart, CountsTensorCollectivesToTheActionAroundThem) {
  Recording recording(1);
  recording.add(OperationKind::kCollective, Phase::kTensor, 0, 0, 0, 0, 1);
  recording.compute(Phase::kForward, 0, 0, 1, 2);
  recording.add(OperationKind::kCollective, Phase::kTensor, 0, 0, 0, 2, 3);
  recording.add(OperationKind::kCollective, Phase::kTensor, 0, 0, 1, 3, 4);
  recording.compute(Phase::kBackward, 0, 1, 4, 6);
  EXPECT_THAT(shape_of(recording.chart().rows[0].lanes[0]),
              ElementsAre(FieldsAre(Kind::kForward, 0, 3, true), FieldsAre(Kind::kBackward, 3, 6, true)));
}

TEST(ReplayChart, NumbersAnActionOnceAroundARestoreThatItWaitsFor) {
  Recording recording(1);
  recording.compute(Phase::kForward, 0, 0, 0, 1);
  recording.add(OperationKind::kCollective, Phase::kRestore, 0, 0, -1, 1, 2);
  recording.compute(Phase::kForward, 0, 0, 2, 4);
  EXPECT_THAT(shape_of(recording.chart().rows[0].lanes[0]),
              ElementsAre(FieldsAre(Kind::kForward, 0, 1, false), FieldsAre(Kind::kRestore, 1, 2, false),
                          FieldsAre(Kind::kForward, 2, 4, true)));
}

TEST(ReplayChart, ShowsBlockingMessagesInTheComputeLaneAtBothEnds) {
  Recording recording(1);
  recording.add_channel(true);
  recording.compute(Phase::kBackward, 0, 0, 0, 2);
  recording.add(OperationKind::kSend, Phase::kPipeline, 0, 0, 0, 2, 3);
  recording.add(OperationKind::kReceive, Phase::kPipeline, 0, 0, 1, 4, 5);
  const Chart chart = recording.chart();
  ASSERT_EQ(chart.rows[0].lanes.size(), 1U);
  EXPECT_THAT(shape_of(chart.rows[0].lanes[0]),
              ElementsAre(FieldsAre(Kind::kBackward, 0, 2, true), FieldsAre(Kind::kGradientMessage, 2, 3, false),
                          FieldsAre(Kind::kGradientMessage, 4, 5, false)));
}

TEST(ReplayChart, ShowsTransfersInThinLanesAtTheirSenders) {
  Recording recording(2);
  recording.add_channel(false);
  recording.compute(Phase::kForward, 0, 0, 0, 10);
  recording.add(OperationKind::kSend, Phase::kPipeline, 1, 0, 0, 2, 5);
  recording.add(OperationKind::kSend, Phase::kPipeline, 2, 0, 1, 4, 6);  // while the first is on its way
  recording.add(OperationKind::kSend, Phase::kPipeline, 1, 0, 2, 5, 7);
  recording.add(OperationKind::kReceive, Phase::kPipeline, 1, 0, 3, 7, 8);
  recording.add(OperationKind::kCollective, Phase::kRestore, 3, 0, -1, 1, 2);
  recording.add(OperationKind::kCollective, Phase::kReduce, 3, 0, -1, 8, 9);
  const Chart chart = recording.chart();
  ASSERT_EQ(chart.rows[0].lanes.size(), 4U);
  EXPECT_THAT(shape_of(chart.rows[0].lanes[1]), ElementsAre(FieldsAre(Kind::kActivationMessage, 2, 5, false),
                                                            FieldsAre(Kind::kActivationMessage, 5, 7, false)));
  EXPECT_THAT(shape_of(chart.rows[0].lanes[2]), ElementsAre(FieldsAre(Kind::kActivationMessage, 4, 6, false)));
  EXPECT_THAT(shape_of(chart.rows[0].lanes[3]),
              ElementsAre(FieldsAre(Kind::kRestore, 1, 2, false), FieldsAre(Kind::kReduce, 8, 9, false)));
  ASSERT_EQ(chart.rows[1].lanes.size(), 4U);  // rows are alike
  EXPECT_THAT(chart.rows[1].lanes[1].boxes, IsEmpty());
  EXPECT_TRUE(chart.rows[1].lanes[1].thin);
}

TEST(ReplayChart, ShowsTheSlowestRankOfARoleAndSaysSo) {
  Recording recording(1, 3);
  recording.compute(Phase::kForward, 0, 0, 0, 4);
  EXPECT_THAT(recording.chart().facts, IsEmpty());
  recording.slow_down(1, 1.5);
  const Chart chart = recording.chart();
  EXPECT_DOUBLE_EQ(boxes(chart, 0).front().end, 6);
  EXPECT_THAT(chart.facts, ElementsAre(::testing::HasSubstr("slowest")));
}

TEST(ReplayChart, AWindowCutsTimeAndRanks) {
  Recording recording(3);
  recording.compute(Phase::kForward, 0, 0, 0, 4);
  recording.compute(Phase::kForward, 0, 1, 4, 8);
  const Chart chart = recording.chart({.first_rank = 0, .last_rank = 1, .from = 3, .until = 5});
  EXPECT_EQ(chart.rows.size(), 2U);
  EXPECT_THAT(shape_of(chart.rows[0].lanes[0]),
              ElementsAre(FieldsAre(Kind::kForward, 3, 4, true), FieldsAre(Kind::kForward, 4, 5, true)));
  EXPECT_DOUBLE_EQ(chart.start, 3);
  EXPECT_DOUBLE_EQ(chart.end, 5);
  EXPECT_TRUE(recording.chart({.first_rank = 7}).rows.empty());
}

TEST(ReplayChart, JoinsWhatIsTooShortToSee) {
  Recording recording(1);
  recording.compute(Phase::kForward, 0, 0, 0, 1);
  recording.compute(Phase::kForward, 0, 0, 1.00001, 2);  // of 2: a gap of 5e-6
  EXPECT_EQ(boxes(recording.chart(), 0).size(), 1U);
  EXPECT_EQ(boxes(recording.chart({.from = 0.999, .until = 1.001}), 0).size(), 2U);
}

/// Time that a rank's compute stream is occupied.
double occupied(const graph::Program& program, const std::vector<timeline::Span>& spans) {
  double sum = 0;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    if (program.streams[program.operations[i].stream].kind == graph::StreamKind::kCompute) {
      sum += spans[i].end - spans[i].start;
    }
  }
  return sum;
}

/// Whether the boxes of a row last as long as the compute stream of a rank that plays the row's role, and the gaps that
/// may be joined.
bool is_of_some_rank(double sum, std::size_t row, const pipeline::Prepared& prepared,
                     const timeline::Timeline& timeline) {
  const graph::Program& program = prepared.graph.programs[row];
  const double joined = 1e-4 * timeline.end_s * static_cast<double>(program.operations.size());
  for (std::size_t rank = 0; rank < prepared.deployment.ranks.size(); ++rank) {
    if (prepared.deployment.ranks[rank].program != static_cast<int>(row)) {
      continue;
    }
    const double busy = occupied(program, timeline.spans[rank]);
    if (sum >= busy - 1e-9 * timeline.end_s && sum <= busy + joined) {
      return true;
    }
  }
  return false;
}

/// Forwards, backwards and weight gradients of a program, each with its stage and micro-batch.
std::size_t actions_of(const graph::Program& program) {
  std::set<std::tuple<int, int, int>> actions;
  for (const graph::Operation& operation : program.operations) {
    const bool is_pass = operation.phase == Phase::kForward || operation.phase == Phase::kBackward ||
                         operation.phase == Phase::kInputGradient || operation.phase == Phase::kWeightGradient;
    if (operation.kind == OperationKind::kCompute && is_pass) {
      actions.emplace(static_cast<int>(operation.phase), operation.stage, operation.micro_batch);
    }
  }
  return actions.size();
}

TEST(ReplayChart, OfRandomScenariosIsCompleteAndNothingOverlaps) {
  std::mt19937 random(20240611);
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  int drawn = 0;
  for (int trial = 0; trial < 40; ++trial) {
    scenario::Scenario scenario = tests::random_scenario(random);
    scenario.strategy.point_to_point = static_cast<scenario::PointToPoint>(trial % 4);
    const auto result = pipeline::simulate(scenario, catalogs);
    if (!result) {
      continue;
    }
    ++drawn;
    const pipeline::Prepared& prepared = result->prepared;
    const Chart chart = replay_chart(prepared.graph, prepared.deployment, result->timeline);
    ASSERT_EQ(chart.rows.size(), prepared.graph.programs.size());
    for (std::size_t row = 0; row < chart.rows.size(); ++row) {
      const graph::Program& program = prepared.graph.programs[row];
      std::size_t numbered = 0;
      double sum = 0;
      for (const Box& box : boxes(chart, row)) {
        numbered += box.numbered ? 1 : 0;
        sum += box.end - box.start;
      }
      EXPECT_EQ(numbered, actions_of(program)) << "trial " << trial << " row " << row;
      EXPECT_TRUE(is_of_some_rank(sum, row, prepared, result->timeline)) << "trial " << trial << " row " << row;
      for (const Lane& lane : chart.rows[row].lanes) {
        EXPECT_TRUE(testing::are_apart(lane)) << "trial " << trial << " row " << row;
      }
    }
    EXPECT_NO_THROW((void)testing::read_xml(to_svg({chart})));
  }
  EXPECT_GT(drawn, 20);
}

}  // namespace
}  // namespace lamina::draw
