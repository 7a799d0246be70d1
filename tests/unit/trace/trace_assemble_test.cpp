#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/trace/assemble.hpp"
#include "tests/unit/trace/synthetic.hpp"

namespace lamina::trace {
namespace {

using testing::Clock;
using ::testing::HasSubstr;
using testing::Synthetic;

Job job_of(const std::string& rows, const Layout& stated = {}) {
  return assemble(read_events(testing::kHeader + rows, "job.csv"), "job.csv", stated);
}

/// Times that tell every pass and message apart.
Synthetic uneven() {
  Synthetic job;
  job.compute_s = [](const Pass& pass) {
    return (pass.backward ? 2.0 : 1.0) + 0.25 * pass.stage + 0.01 * pass.micro_batch;
  };
  job.transfer_s = [](const Pass& pass) {
    return (pass.backward ? 0.002 : 0.001) + 0.0001 * pass.stage + 0.00001 * pass.micro_batch;
  };
  return job;
}

void expect_times(const MeasuredReplica& replica, const Synthetic& made) {
  const Clock clock(made);
  for (int rank = 0; rank < made.ranks; ++rank) {
    EXPECT_EQ(replica.order[static_cast<std::size_t>(rank)], made.order(rank)) << "rank " << rank;
    for (const Pass& pass : made.order(rank)) {
      EXPECT_NEAR(replica.times.compute.at(pass), made.compute_s(pass), 1e-9) << describe(pass);
      EXPECT_NEAR(replica.times.transfer.at(pass), clock.target(pass) ? made.transfer_s(pass) : 0, 1e-9)
          << describe(pass);
    }
  }
}

/// `rows` without the first line that contains `text`.
std::string without(const std::string& rows, const std::string& text) {
  const std::size_t at = rows.find(text);
  if (at == std::string::npos) {
    throw std::runtime_error("no row with " + text);
  }
  const std::size_t start = rows.rfind('\n', at);
  const std::size_t first = start == std::string::npos ? 0 : start + 1;
  return rows.substr(0, first) + rows.substr(rows.find('\n', at) + 1);
}

std::string reason(const Job& job) {
  return job.skipped.empty() ? "nothing skipped" : job.skipped.front().reason;
}

TEST(TraceAssembly, GivesEveryMessageItsPassAndTheShorterOfItsEnds) {
  const Synthetic made = uneven();
  const Job job = job_of(testing::rows(made, 5, 0, 100));
  EXPECT_EQ(job.pipeline_ranks, 4);
  EXPECT_EQ(job.chunks, 1);
  ASSERT_EQ(job.steps.size(), 1U);
  EXPECT_EQ(job.steps[0].step, 5);
  ASSERT_EQ(job.steps[0].replicas.size(), 1U);
  expect_times(job.steps[0].replicas[0], made);
  Clock clock(made);
  EXPECT_NEAR(job.steps[0].replicas[0].pipeline_s(), clock.makespan(), 1e-9);
  EXPECT_NEAR(job.steps[0].replicas[0].start_s, 100, 1e-9);
}

TEST(TraceAssembly, TakesVirtualStagesWithAndWithoutTheMessagesThatNeverHappen) {
  Synthetic made = uneven();
  made.ranks = 3;
  made.chunks = 2;
  made.batched = false;
  for (const bool idle_ends : {false, true}) {
    const Job job = job_of(testing::rows(made, 1, 0, 0, idle_ends));
    EXPECT_EQ(job.chunks, 2);
    ASSERT_EQ(job.steps.size(), 1U) << reason(job);
    expect_times(job.steps[0].replicas[0], made);
  }
}

TEST(TraceAssembly, OfOneRankHasNoMessages) {
  Synthetic made = uneven();
  made.ranks = 1;
  const Job job = job_of(testing::rows(made));
  ASSERT_EQ(job.steps.size(), 1U);
  EXPECT_EQ(job.steps[0].replicas[0].order[0], made.order(0));
}

TEST(TraceAssembly, CountsGapsThatNeitherComputeNorMessagesExplain) {
  Synthetic made;
  made.ranks = 2;
  made.micro_batches = 2;
  const double whole = job_of(testing::rows(made)).steps[0].replicas[0].gap_s[1];
  EXPECT_NEAR(whole, 0, 1e-9);
  // Rank 1: receive [0, 1], forward [1, 2]; here the forward starts 0.4 s late and is as much shorter.
  std::string rows = testing::rows(made);
  const std::string before = "0,1,1,0,backward-compute,2,2,0,0,0,1\n";
  ASSERT_THAT(rows, HasSubstr(before));
  rows.replace(rows.find(before), before.size(), "0,1,1,0,backward-compute,2.4,1.6,0,0,0,1\n");
  EXPECT_NEAR(job_of(rows).steps[0].replicas[0].gap_s[1], 0.4, 1e-9);
}

TEST(TraceAssembly, SkipsAnIncompleteReplicaAndSaysWhatItLacks) {
  const Synthetic made = uneven();
  const std::string good = testing::rows(made, 1, 0);
  const std::string other = testing::rows(made, 1, 1);
  const auto skipped = [&](const std::string& bad) {
    const Job job = job_of(bad + other);
    EXPECT_EQ(job.steps.size(), 1U);
    EXPECT_EQ(job.steps.at(0).replicas.size(), 1U);
    EXPECT_EQ(job.steps.at(0).replicas.at(0).replica, 1);
    return reason(job);
  };
  EXPECT_EQ(skipped(without(good, "0,2,2,1,backward-compute")), "no backward of micro-batch 0, stage 2");
  EXPECT_EQ(skipped(without(good, "0,2,2,1,forward-send")),
            "pipeline rank 2: forward-send occurs 5 times for 6 messages");
  EXPECT_EQ(skipped(without(good, "0,0,0,1,backward-recv")),
            "pipeline rank 0: backward-recv occurs 5 times for 6 messages");
  EXPECT_EQ(skipped(good + "0,2,2,1,forward-compute,0,1,6,0,3,2\n"), "forward of micro-batch 3, stage 2 twice");
  EXPECT_THAT(skipped(good + "0,2,2,1,forward-compute,0,1,6,0,77,2\n"), HasSubstr("micro-batch 77 on pipeline rank 2"));
  EXPECT_THAT(skipped("0,2,2,1,forward-compute,0,1,6,0,0,2\n"), HasSubstr("no forward on pipeline rank 0"));
}

TEST(TraceAssembly, SkipsAReplicaThatIsAbsentFromAStep) {
  const Synthetic made = uneven();
  const Job job = job_of(testing::rows(made, 1, 0) + testing::rows(made, 1, 1) + testing::rows(made, 2, 1));
  EXPECT_EQ(job.replicas, 2);
  ASSERT_EQ(job.steps.size(), 2U);
  ASSERT_EQ(job.skipped.size(), 1U);
  EXPECT_EQ(job.skipped[0].step, 2);
  EXPECT_EQ(job.skipped[0].replica, 0);
  EXPECT_EQ(job.skipped[0].reason, "no events");
}

TEST(TraceAssembly, CountsMicroBatchesFromZeroWhateverTheirNumbers) {
  Synthetic made = uneven();
  made.number_step = 41;
  const Job job = job_of(testing::rows(made));
  ASSERT_EQ(job.steps.size(), 1U) << reason(job);
  expect_times(job.steps[0].replicas[0], made);
}

TEST(TraceAssembly, RefusesMetadataOfAnotherJob) {
  const std::string rows = testing::rows(uneven());
  const auto refusal = [&](const Layout& stated) -> std::string {
    try {
      (void)job_of(rows, stated);
    } catch (const error::ScenarioError& fault) {
      return fault.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({.pipeline_ranks = 4, .replicas = 1, .chunks = 1}), "accepted");
  EXPECT_THAT(refusal({.pipeline_ranks = 8}), HasSubstr("has 4 pipeline ranks, its metadata say 8"));
  EXPECT_THAT(refusal({.pipeline_ranks = 4, .chunks = 2}), HasSubstr("1 model chunks"));
}

TEST(TraceAssembly, MissesReplicasThatOnlyTheMetadataName) {
  const Job job = job_of(testing::rows(uneven()), {.pipeline_ranks = 4, .replicas = 3});
  EXPECT_EQ(job.replicas, 3);
  EXPECT_EQ(job.skipped.size(), 2U);
}

TEST(TraceMetadata, AreReadByKey) {
  const Layout layout = read_layout("trial_name: AR\nrun_id: 0\ndp_size: 4\npp_size: 8\r\nvpp_size: 2\n", "meta.yaml");
  EXPECT_EQ(layout.pipeline_ranks, 8);
  EXPECT_EQ(layout.replicas, 4);
  EXPECT_EQ(layout.chunks, 2);
}

TEST(TraceMetadata, WithoutASizeAreRefused) {
  EXPECT_THROW((void)read_layout("pp_size: many\n", "meta.yaml"), error::ScenarioError);
  EXPECT_THROW((void)read_layout("pp_size: 0\n", "meta.yaml"), error::ScenarioError);
  EXPECT_THROW((void)read_layout("name: x\n", "meta.yaml"), error::ScenarioError);
}

}  // namespace
}  // namespace lamina::trace
