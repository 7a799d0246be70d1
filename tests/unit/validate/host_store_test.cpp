#include "validate/cpu/host_store.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "validate/ranks/launch.hpp"
#include "validate/ranks/wire.hpp"

namespace lamina::validate::cpu {
namespace {

using testing::HasSubstr;

/// A fresh folder that goes away.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "host-store-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  ~Folder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

graph::Operation copy(bool to_host, std::int32_t layer, std::int32_t micro_batch, double bytes) {
  graph::Operation operation;
  operation.kind = graph::OperationKind::kHostCopy;
  operation.to_host = to_host;
  operation.layer = layer;
  operation.micro_batch = micro_batch;
  operation.bytes = bytes;
  return operation;
}

/// State of two layers in and out, and a checkpoint of one.
graph::Program program() {
  graph::Program result;
  result.operations = {graph::Operation(),        copy(true, 0, 3, 5000),   copy(false, 0, 3, 5000),
                       copy(false, 0, -1, 70000), copy(true, 0, -1, 70000), copy(false, 1, -1, 30000)};
  return result;
}

TEST(PlaceCopies, GivesEveryLayerAndMicroBatchPagesOfItsOwn) {
  const HostPlaces places = place_copies(program());
  ASSERT_EQ(places.of_operation.size(), 6U);
  EXPECT_EQ(places.of_operation[1], places.of_operation[2]);
  EXPECT_EQ(places.of_operation[3], places.of_operation[4]);
  EXPECT_EQ(std::set<std::size_t>({places.of_operation[1], places.of_operation[3], places.of_operation[5]}).size(), 3U);
  for (const std::size_t place : places.of_operation) {
    EXPECT_EQ(place % kPage, 0U);
  }
  EXPECT_EQ(places.total, (2 + 18 + 8) * kPage);  // 5000, 70000 and 30000 bytes in pages
  EXPECT_EQ(places.largest, 70000U);
  EXPECT_DOUBLE_EQ(places.in_step, 2 * 5000 + 2 * 70000 + 30000);
}

TEST(FileStore, ReadsBackWhatItWroteAndHasNoNameInTheFolder) {
  const Folder folder;
  const auto store = make_file_store(place_copies(program()), folder.path());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  const std::vector<std::size_t> order = {3, 1, 5};
  for (const std::size_t operation : order) {
    std::fill(store->outgoing().begin(), store->outgoing().end(), static_cast<char>(operation));
    store->write(store->places().of_operation[operation],
                 static_cast<std::size_t>(program().operations[operation].bytes));
  }
  for (const std::size_t operation : order) {
    std::fill(store->incoming().begin(), store->incoming().end(), '\0');
    const auto bytes = static_cast<std::size_t>(program().operations[operation].bytes);
    store->read(store->places().of_operation[operation], bytes);
    const auto read = store->incoming().first(bytes);
    EXPECT_TRUE(std::all_of(read.begin(), read.end(), [&](char one) { return one == static_cast<char>(operation); }))
        << operation;
  }
}

TEST(FileStore, IsWrittenFromEndToEndBeforeTheFirstCopy) {
  const Folder folder;
  const auto store = make_file_store(place_copies(program()), folder.path());
  for (const std::size_t operation : {1U, 3U, 5U}) {
    store->read(store->places().of_operation[operation], kPage);
    const auto page = store->incoming().first(kPage);
    EXPECT_GT(std::count_if(page.begin(), page.end(), [](char one) { return one != 0; }), 3000) << operation;
  }
}

TEST(FileStore, NamesTheFolderThatItCannotWriteTo) {
  const Folder folder;
  const std::string missing = (folder.path() / "none").string();
  try {
    (void)describe_file_store(missing);
    FAIL() << "no such folder";
  } catch (const error::EnvironmentError& fault) {
    EXPECT_THAT(fault.what(), testing::AllOf(HasSubstr(missing), HasSubstr("No such file or directory")));
  }
  EXPECT_THROW((void)make_file_store(place_copies(program()), "/proc"), error::EnvironmentError);
  EXPECT_THAT(describe_file_store(folder.path()),
              testing::AllOf(HasSubstr(folder.path().string()),
                             testing::AnyOf(HasSubstr("O_DIRECT"), HasSubstr("fdatasync"), HasSubstr("in memory"))));
}

/// Takes as long as it is told; files or not.
class FakeStore final : public HostStore {
 public:
  FakeStore(bool compete, std::function<void(bool to_host, std::size_t bytes)> wait)
      : HostStore(place_copies(program())), compete_(compete), wait_(std::move(wait)) {}

  [[nodiscard]] bool ranks_compete() const override { return compete_; }

  void write(std::size_t place, std::size_t bytes) override { move(true, place, bytes); }

  void read(std::size_t place, std::size_t bytes) override { move(false, place, bytes); }

 private:
  void move(bool to_host, std::size_t place, std::size_t bytes) {
    if (place % kPage != 0 || place + whole_pages(bytes) > places().total) {
      throw error::InternalError("a copy beyond the places");
    }
    wait_(to_host, bytes);
  }

  bool compete_;
  std::function<void(bool, std::size_t)> wait_;
};

/// Two ranks, the second of which copies nothing.
graph::OperationGraph two_programs() {
  graph::OperationGraph graph;
  graph.programs = {program(), {}};
  return graph;
}

deployment::Deployment two_ranks() {
  deployment::Deployment deployment;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    deployment::Rank here;
    here.program = rank;
    here.to_host = rank;
    here.from_host = rank;
    deployment.ranks.push_back(here);
    deployment::Link link;
    link.bandwidth = 1e10;
    deployment.links.push_back(link);
    deployment.paths.push_back({{{rank, 1}}, 1e-5, 1e-10});
  }
  return deployment;
}

TEST(MeasureCopies, TimesBothDirectionsInTheSameRoundsOnRanksThatCopyAndOnThoseThatDoNot) {
  constexpr double kPatience = 20;
  constexpr double kWrite = 4e-3;
  constexpr double kRead = 1e-3;
  for (const bool compete : {true, false}) {
    const graph::OperationGraph graph = two_programs();
    const deployment::Deployment deployment = two_ranks();
    std::vector<CopyCosts> costs;
    const auto coordinator = ranks::launch(2, [&](int rank, ranks::Control& control) {
      FakeStore store(compete, [&](bool to_host, std::size_t) {
        ranks::sleep_until(ranks::monotonic_s() + (to_host ? kWrite : kRead));
      });
      ranks::Packer packer;
      packer.value(measure_copies(store, graph, deployment, rank, control));
      control.report(packer.take());
    });
    coordinator->greet(kPatience);
    coordinator->serve([] { return kPatience; },
                       [&](const std::vector<std::string>& reports) {
                         for (const std::string& report : reports) {
                           costs.push_back(ranks::Unpacker(report).value<CopyCosts>());
                         }
                       });
    ASSERT_EQ(costs.size(), 2U);
    EXPECT_EQ(costs[0].to_host.large_bytes, 70000);
    EXPECT_EQ(costs[0].from_host.large_bytes, 70000);
    EXPECT_GE(costs[0].to_host.together_s, kWrite);
    EXPECT_GE(costs[0].from_host.together_s, kRead);
    EXPECT_EQ(costs[0].to_host.large_s > 0, compete);
    EXPECT_EQ(costs[1].to_host.large_bytes, 0);
    EXPECT_EQ(costs[1].from_host.together_s, 0);
  }
}

/// A disk of 1 ms and 1 GB/s each way, writing at half of that; two ranks together get 1.5 times of what one gets.
CopyCost cost_of(double rate) {
  CopyCost cost;
  cost.small_bytes = 1e6;
  cost.large_bytes = 8e6;
  cost.small_s = 1e-3 + cost.small_bytes / rate;
  cost.large_s = 1e-3 + cost.large_bytes / rate;
  cost.together_s = 1e-3 + cost.large_bytes / (0.75 * rate);
  return cost;
}

TEST(ApplyCopies, GivesFilesTheirOwnRateAndASharedOneOfAllRanks) {
  const deployment::Deployment before = two_ranks();
  deployment::Deployment after = before;
  apply_copies(std::vector<CopyCosts>(2, {cost_of(0.5e9), cost_of(1e9)}), before, true, after);
  std::vector<std::int32_t> shared;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    for (const bool to_host : {true, false}) {
      const double rate = to_host ? 0.5e9 : 1e9;
      const std::int32_t index = to_host ? after.ranks[rank].to_host : after.ranks[rank].from_host;
      const deployment::Path& path = after.paths.at(static_cast<std::size_t>(index));
      EXPECT_NEAR(path.latency_s, 1e-3, 1e-9);
      EXPECT_NEAR(path.alone_s_per_byte * rate, 1, 1e-9);
      ASSERT_EQ(path.links.size(), 2U);
      EXPECT_NEAR(after.links.at(static_cast<std::size_t>(path.links[0].link)).bandwidth, rate, 1);
      EXPECT_NEAR(after.links.at(static_cast<std::size_t>(path.links[1].link)).bandwidth, 1.5 * rate, 1);
      shared.push_back(path.links[1].link);
    }
  }
  EXPECT_EQ(shared[0], shared[2]);
  EXPECT_EQ(shared[1], shared[3]);
  EXPECT_NE(shared[0], shared[1]);
  EXPECT_EQ(after.links[0].bandwidth, before.links[0].bandwidth);
}

TEST(ApplyCopies, AddsToAPathInMemoryOnlyWhatACopyTakesBeyondIt) {
  const deployment::Deployment before = two_ranks();
  deployment::Deployment after = before;
  CopyCosts slow;
  slow.to_host.large_bytes = 1e6;
  slow.to_host.together_s = 1e-5 + 1e6 * 1e-10 + 3e-6;
  CopyCosts none;
  apply_copies({slow, none}, before, false, after);
  EXPECT_NEAR(after.paths[0].latency_s, 1.3e-5, 1e-12);
  EXPECT_EQ(after.paths[1].latency_s, 1e-5);
  EXPECT_EQ(after.links.size(), before.links.size());
  EXPECT_EQ(after.ranks[0].to_host, before.ranks[0].to_host);
}

}  // namespace
}  // namespace lamina::validate::cpu
