#include "sim/requirements/closed_form.hpp"

#include <gtest/gtest.h>

#include "tests/support/paths.hpp"

namespace lamina::requirements {
namespace {

constexpr double kPeak = 312e12;  ///< FLOP/s of an A100 in bf16
constexpr double kSequence = 2560;
constexpr double kWidth = 25600;
constexpr double kReplicas = 483;

/// X_160 as in the quick start, whose kernels run at peak, with changes.
struct Case {
  scenario::Scenario scenario;
  pipeline::Prepared prepared;
  pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
};

Case x160(std::vector<scenario::Override> changes) {
  Case result;
  changes.push_back({"cluster.topology", "fat_tree"});
  result.scenario =
      scenario::load_file(tests::source_folder() / "scenarios" / "quickstart.yaml",
                          tests::source_folder() / "scenarios", pipeline::plugins_of(result.catalogs), changes);
  auto prepared = pipeline::prepare(result.scenario, result.catalogs);
  EXPECT_TRUE(prepared) << prepared.error().reason;
  result.prepared = std::move(*prepared);
  return result;
}

double bandwidth_of(const Case& subject, graph::Traffic traffic) {
  const auto form = closed_form(subject.scenario, subject.prepared, traffic, 0);
  EXPECT_TRUE(form);
  return form ? form->bandwidth(0) : 0;
}

/// Bandwidth per direction that an intensity (FLOP per byte in and out) asks for; a ring of n leaves out 1/n.
double at_intensity(double intensity) {
  return kPeak / intensity / 2 * (kReplicas - 1) / kReplicas;
}

TEST(ClosedForm, OfLayeredRestoresIsHalfTheTokensOfAReplica) {
  // arXiv 2106.02679, arithmetic intensity of partitioned layered accumulation: (1/2) n_mu b_mu d_s in the forward. Two
  // weight buffers keep the last two layers from forward to backward: 2 L - 2 restores stand in the place of 2 L.
  const Case subject = x160({});
  const double layers = 160.0 / 5;
  EXPECT_NEAR(bandwidth_of(subject, graph::Traffic::kRestore) / at_intensity(0.5 * 5 * kSequence),
              (layers - 1) / layers, 1e-3);
}

TEST(ClosedForm, OfLayeredReductionsIsThreeQuartersOfTheTokensOfAReplica) {
  // Not partitioned: an all-reduce, 8 bytes in and out per parameter, behind 6 FLOP per parameter and token.
  const Case subject = x160({{"strategy.sharding", "none"}, {"simulation.enforce_memory", "false"}});
  EXPECT_NEAR(bandwidth_of(subject, graph::Traffic::kReduce) / at_intensity(0.75 * 5 * kSequence), 1, 1e-3);
}

TEST(ClosedForm, OfPlainReductionsIsThatOfOneMicroBatch) {
  const Case subject = x160({{"strategy.sharding", "none"},
                             {"simulation.enforce_memory", "false"},
                             {"strategy.schedule", "one_forward_one_backward"}});
  EXPECT_NEAR(bandwidth_of(subject, graph::Traffic::kReduce) / at_intensity(0.75 * kSequence), 1, 1e-3);
}

TEST(ClosedForm, OfAModularPipelineIsSixTimesTheWidth) {
  // 6 d_m FLOP per byte in and out in the forward, sends sliced over the tensor group.
  const Case subject = x160({});
  EXPECT_NEAR(bandwidth_of(subject, graph::Traffic::kPipeline) / (kPeak / (6 * kWidth) / 2), 1, 1e-3);
}

TEST(ClosedForm, OfATensorGroupHidesNothing) {
  // Six all-reduces of b s h values of 2 bytes a layer (2 forward, 2 recompute, 2 backward), each 2 (t - 1) / t of the
  // buffer, sent by each device for its 32 layers and 5 micro-batches.
  const Case subject = x160({});
  const double bytes = 6 * 2 * (15.0 / 16) * kSequence * kWidth * 2 * 32 * 5;
  const auto form = closed_form(subject.scenario, subject.prepared, graph::Traffic::kTensor, 2);
  ASSERT_TRUE(form);
  EXPECT_NEAR(form->bytes() / bytes, 1, 0.2);  // sequence parallelism recomputes one exchange less
  EXPECT_DOUBLE_EQ(form->bandwidth(2), form->bytes() / 2);
}

TEST(ClosedForm, BandwidthShowsTheLeastHiddenTransfersFirst) {
  // 3 transfers of 10 bytes behind 2 s each, 1 of 10 bytes behind 8 s.
  ClosedForm form;
  form.transfers = {{1, 10, 8}, {3, 10, 2}};
  EXPECT_DOUBLE_EQ(form.bandwidth(0), 5);
  // 3 (10 / B - 2) = 6 at 10 / B = 4, which the last still hides.
  EXPECT_DOUBLE_EQ(form.bandwidth(6), 2.5);
  // 3 (t - 2) + (t - 8) = 22 at t = 9.
  EXPECT_DOUBLE_EQ(form.bandwidth(22), 10.0 / 9);
}

TEST(ClosedForm, IsNoneWithoutTraffic) {
  const Case subject = x160({});
  EXPECT_FALSE(closed_form(subject.scenario, subject.prepared, graph::Traffic::kOffload, 0));
}

}  // namespace
}  // namespace lamina::requirements
