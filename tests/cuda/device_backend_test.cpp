#include "validate/cuda/plugin/device_backend.hpp"

#include <memory>
#include <numeric>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "sim/replay/replay.hpp"
#include "tests/cuda/fake_device.hpp"
#include "tests/support/random_disturbances.hpp"
#include "tests/support/random_scenario.hpp"
#include "validate/execute.hpp"

namespace lamina::validate::cuda {
namespace {

using testing::HasSubstr;

/// A scenario laid out, and the kernels of its operations; does not move.
struct Laid {
  explicit Laid(scenario::Scenario of) : scenario(std::move(of)) {
    scenario.simulation.fold = false;
    auto made = pipeline::prepare(scenario, pipeline::builtin_catalogs());
    EXPECT_TRUE(made.has_value()) << made.error().reason;
    prepared = std::make_unique<pipeline::Prepared>(std::move(*made));
    calls = kernel_calls(prepared->graph, prepared->work, scenario.strategy);
  }

  [[nodiscard]] DeviceSetup setup() const {
    DeviceSetup setup;
    setup.graph = &prepared->graph;
    setup.deployment = &prepared->deployment;
    setup.calls = &calls;
    setup.ranks.resize(prepared->deployment.ranks.size());
    std::iota(setup.ranks.begin(), setup.ranks.end(), 0);
    setup.precision = scenario.strategy.precision;
    setup.hidden = scenario.model.hidden;
    setup.sequence = scenario.model.sequence_length;
    setup.vocabulary = scenario.model.vocabulary;
    setup.head = scenario.model.head_size;
    return setup;
  }

  [[nodiscard]] Execution execute_with(DeviceBackend& backend) const {
    return execute(prepared->graph, prepared->deployment, issue_order(prepared->graph), backend);
  }

  scenario::Scenario scenario;
  std::unique_ptr<pipeline::Prepared> prepared;
  KernelCalls calls;
};

replay::Options alone() {
  replay::Options options;
  options.transport = scenario::Transport::kNoContention;
  return options;
}

/// Events of a CUDA device are told apart by 24 bits of the time since the step's start.
void expect_equal(const timeline::Timeline& executed, const timeline::Timeline& replayed) {
  ASSERT_EQ(executed.spans.size(), replayed.spans.size());
  EXPECT_NEAR(executed.end_s, replayed.end_s, 1e-6 * replayed.end_s);
  for (std::size_t rank = 0; rank < executed.spans.size(); ++rank) {
    ASSERT_EQ(executed.spans[rank].size(), replayed.spans[rank].size());
    for (std::size_t i = 0; i < executed.spans[rank].size(); ++i) {
      ASSERT_NEAR(executed.spans[rank][i].start, replayed.spans[rank][i].start, 1e-6 * replayed.end_s)
          << "rank " << rank << ", operation " << i;
      ASSERT_NEAR(executed.spans[rank][i].end, replayed.spans[rank][i].end, 1e-6 * replayed.end_s)
          << "rank " << rank << ", operation " << i;
    }
  }
}

/// The fake's copy engines take as long as the host paths of rank 0. @return whether those of all ranks are alike
bool copy_as(const deployment::Deployment& deployment) {
  const auto cost = [&](std::int32_t path) {
    const deployment::Path& over = deployment.paths[static_cast<std::size_t>(path)];
    return std::pair(over.latency_s, over.alone_s_per_byte);
  };
  for (const deployment::Rank& rank : deployment.ranks) {
    if (rank.to_host == -1 || rank.from_host == -1) {
      return deployment.ranks.front().to_host == -1;
    }
    if (cost(rank.to_host) != cost(deployment.ranks.front().to_host) ||
        cost(rank.from_host) != cost(deployment.ranks.front().from_host)) {
      return false;
    }
  }
  tests::fake::State& state = tests::fake::state();
  std::tie(state.to_host_latency_s, state.to_host_s_per_byte) = cost(deployment.ranks.front().to_host);
  std::tie(state.from_host_latency_s, state.from_host_s_per_byte) = cost(deployment.ranks.front().from_host);
  return true;
}

TEST(CudaBackend, HoldsTheDatesOfAReplayForEverySchedule) {
  for (const auto& info : pipeline::builtin_catalogs().schedules.infos()) {
    SCOPED_TRACE(info.name);
    const tests::fake::Fresh fresh;
    tests::fake::state().runs_kernels = false;
    scenario::Scenario scenario = tests::delayed_scenario(4, 16, 1e-2);
    scenario.strategy.schedule = tests::choose_schedule(info.name);
    scenario.strategy.micro_batches = 8;
    if (info.name == "accumulate") {
      scenario.strategy.pipeline_parallel = 1;
    }
    const Laid laid(scenario);
    DeviceSetup setup = laid.setup();
    setup.hold_compute = true;
    DeviceBackend backend(setup);
    expect_equal(laid.execute_with(backend).timeline,
                 replay::replay(laid.prepared->graph, laid.prepared->deployment, alone()));
  }
}

class RandomOnCuda : public testing::TestWithParam<unsigned> {};

TEST_P(RandomOnCuda, HoldsTheDatesOfAReplay) {
  const tests::fake::Fresh fresh;
  tests::fake::state().runs_kernels = false;
  std::mt19937 random(GetParam());
  scenario::Scenario scenario = tests::random_scenario(random);
  tests::free_hosts(scenario);  // the back end launches by itself
  tests::add_random_disturbances(random, 1.0, scenario);
  const Laid laid(scenario);
  if (!copy_as(laid.prepared->deployment)) {
    GTEST_SKIP() << "host paths differ between ranks";
  }
  DeviceSetup setup = laid.setup();
  setup.hold_compute = true;
  DeviceBackend backend(setup);
  const timeline::Timeline replayed = replay::replay(laid.prepared->graph, laid.prepared->deployment, alone());
  expect_equal(laid.execute_with(backend).timeline, replayed);
  expect_equal(laid.execute_with(backend).timeline, replayed);  // a step leaves nothing behind
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomOnCuda, testing::Range(1U, 31U));

TEST(CudaBackend, LaunchesTheKernelsThatTheModelPriced) {
  const tests::fake::Fresh fresh;
  tests::fake::state().runs_kernels = false;
  tests::fake::state().kernel_s = 3e-6;
  tests::fake::state().flops_per_s = 1e14;
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.pipeline_parallel = 2;
  scenario.strategy.schedule = tests::choose_schedule("one_forward_one_backward");
  const Laid laid(scenario);
  DeviceBackend backend(laid.setup());
  tests::fake::state().calls.clear();
  const Execution execution = laid.execute_with(backend);
  int products = 0;
  std::vector<std::vector<double>> durations;
  for (std::size_t rank = 0; rank < laid.prepared->deployment.ranks.size(); ++rank) {
    const auto program = static_cast<std::size_t>(laid.prepared->deployment.ranks[rank].program);
    auto& of_rank = durations.emplace_back();
    for (std::size_t i = 0; i < laid.calls.list_of[program].size(); ++i) {
      const std::int32_t list = laid.calls.list_of[program][i];
      double seconds = 0;
      for (const KernelCall& call :
           list == KernelCalls::kNone ? std::vector<KernelCall>{} : laid.calls.lists[static_cast<std::size_t>(list)]) {
        const bool product = call.kernel.kind == model::KernelKind::kMatrixProduct && !call.updates;
        products += product ? 1 : 0;
        seconds += product ? call.kernel.flops.value() / 1e14 : 3e-6;
      }
      of_rank.push_back(seconds);
    }
  }
  EXPECT_GT(products, 0);
  EXPECT_EQ(tests::fake::state().calls["cublasLtMatmul"], products);
  replay::Options structural = alone();
  structural.compute_durations = &durations;
  expect_equal(execution.timeline, replay::replay(laid.prepared->graph, laid.prepared->deployment, structural));
  const ListTimes times = backend.time_lists();
  for (std::size_t list = 0; list < laid.calls.lists.size(); ++list) {
    double seconds = 0;
    for (const KernelCall& call : laid.calls.lists[list]) {
      const bool product = call.kernel.kind == model::KernelKind::kMatrixProduct && !call.updates;
      seconds += product ? call.kernel.flops.value() / 1e14 : 3e-6;
    }
    EXPECT_NEAR(times.median_s[list], seconds, 1e-5 * seconds + 1e-12) << list;
    EXPECT_LT(times.spread[list], 1e-3) << list;
  }
  EXPECT_GT(backend.memory_bytes(), 0);
}

TEST(CudaBackend, RunsEveryKindOfKernelInEveryType) {
  using enum scenario::DataType;
  for (const auto type : {kFp32, kTf32, kFp16, kBf16, kFp8}) {
    for (const bool fused : {true, false}) {
      const bool gated = fused == (type != kFp16);
      const tests::fake::Fresh fresh;  // kernels run: a wrong size or address is found by the address sanitizer
      scenario::Scenario scenario = tests::small_scenario();
      scenario.model.layers = 1;
      scenario.model.hidden = 32;
      scenario.model.sequence_length = 16;
      scenario.model.heads = scenario.model.key_value_heads = 2;
      scenario.model.head_size = 16;
      scenario.model.feed_forward = 48;
      scenario.model.gated_mlp = gated;
      scenario.model.biases = !gated;
      scenario.model.learned_positions = gated ? 0 : 16;
      scenario.model.vocabulary = 64;
      scenario.strategy.micro_batches = 1;
      scenario.strategy.fused_attention = fused;
      scenario.strategy.precision.compute = type;
      scenario.cluster.node.accelerator.peak[type] = FlopsPerSecond(1e14);
      const Laid laid(scenario);
      DeviceSetup setup = laid.setup();
      setup.dropout = !gated;
      DeviceBackend backend(setup);
      EXPECT_GT(laid.execute_with(backend).timeline.activities, 0);
      EXPECT_GT(tests::fake::state().calls["launch"], 10);
    }
  }
}

/// Another process: it says nothing, so that names of its communicators are zeros, which the fake takes.
class SilentPeers final : public Peers {
 public:
  [[nodiscard]] std::vector<std::string> gather(const std::string& content) override { return {content, ""}; }

  [[nodiscard]] double start_together() override {
    ++steps;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  int steps = 0;
};

Laid two_ranks(int data_parallel) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.strategy.schedule = tests::choose_schedule(data_parallel > 1 ? "accumulate" : "one_forward_one_backward");
  scenario.strategy.pipeline_parallel = data_parallel > 1 ? 1 : 2;
  scenario.strategy.data_parallel = data_parallel;
  return Laid(scenario);
}

DeviceSetup of_one_rank(const Laid& laid, Peers& peers, std::int32_t rank) {
  DeviceSetup setup = laid.setup();
  setup.peers = &peers;
  setup.ranks = {rank};
  setup.hold_compute = true;
  return setup;
}

TEST(CudaBackend, SendsThroughOneCommunicatorPerChannel) {
  const tests::fake::Fresh fresh;
  tests::fake::state().runs_kernels = false;
  const Laid laid = two_ranks(1);
  SilentPeers peers;
  DeviceBackend backend(of_one_rank(laid, peers, 0));
  const std::vector<std::string>& seen = tests::fake::state().nccl;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "init 2 as 0"), 1 + 1);  // activations; the group of both stages
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "init 2 as 1"), 1);      // gradients
  const Execution execution = laid.execute_with(backend);
  EXPECT_EQ(peers.steps, 1);
  int sends = 0;
  int receives = 0;
  for (const std::string& call : seen) {
    sends += call.rfind("send ", 0) == 0 ? 1 : 0;
    receives += call.rfind("receive ", 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(sends, laid.scenario.strategy.micro_batches);
  EXPECT_EQ(receives, laid.scenario.strategy.micro_batches);
  EXPECT_FALSE(execution.timeline.spans[0].empty());
  EXPECT_TRUE(execution.timeline.spans[1].empty());  // another process's
}

TEST(CudaBackend, ReducesGradientsOfItsTypeInElements) {
  const tests::fake::Fresh fresh;
  tests::fake::state().runs_kernels = false;
  const Laid laid = two_ranks(2);
  SilentPeers peers;
  DeviceBackend backend(of_one_rank(laid, peers, 1));
  (void)laid.execute_with(backend);
  const double bytes = laid.prepared->work.layer.gradient_bytes.value();
  EXPECT_THAT(tests::fake::state().nccl,
              testing::Contains(fmt::format("all-reduce {}", static_cast<std::size_t>(bytes / 2))));
}

std::string fault_of(const DeviceSetup& setup, const Laid& laid) {
  try {
    DeviceBackend backend(setup);
    (void)laid.execute_with(backend);
  } catch (const error::EnvironmentError& fault) {
    return fault.what();
  }
  return "none";
}

class CudaFaults : public testing::Test {
 protected:
  CudaFaults() { tests::fake::state().runs_kernels = false; }

  tests::fake::Fresh fresh_;
  Laid laid_ = two_ranks(1);
};

TEST_F(CudaFaults, NoDriverIsSaidSo) {
  for (const cudaError_t status : {cudaErrorInsufficientDriver, cudaErrorStubLibrary}) {
    tests::fake::state().fail["cudaGetDeviceCount"] = status;
    EXPECT_THAT(fault_of(laid_.setup(), laid_), HasSubstr("no CUDA driver"));
  }
}

TEST_F(CudaFaults, NoDeviceIsSaidSo) {
  tests::fake::state().devices = 0;
  EXPECT_THAT(fault_of(laid_.setup(), laid_), HasSubstr("no CUDA device"));
}

TEST_F(CudaFaults, ADeviceThatThisProcessDoesNotSeeIsNamed) {
  DeviceSetup setup = laid_.setup();
  setup.device = 3;
  EXPECT_THAT(fault_of(setup, laid_), HasSubstr("no CUDA device 3; this process sees 1"));
}

TEST_F(CudaFaults, TooLittleMemoryIsSaidInBytes) {
  tests::fake::state().memory_bytes = 1 << 20;
  EXPECT_THAT(fault_of(laid_.setup(), laid_),
              testing::AllOf(HasSubstr("out of device memory"), HasSubstr("bytes) for "), HasSubstr("are free")));
}

TEST_F(CudaFaults, AFailedLaunchNamesCallFileAndLine) {
  tests::fake::state().fail["cudaEventRecord"] = cudaErrorLaunchFailure;
  tests::fake::state().fail_after["cudaEventRecord"] = 20;
  EXPECT_THAT(fault_of(laid_.setup(), laid_),
              testing::AllOf(testing::StartsWith("validate/cuda/plugin/"), HasSubstr("cudaEventRecord("),
                             HasSubstr("unspecified launch failure")));
}

TEST_F(CudaFaults, AnErrorThatTheDeviceReportsLaterIsSeen) {
  tests::fake::state().fail["cudaEventQuery"] = cudaErrorLaunchFailure;
  EXPECT_THAT(fault_of(laid_.setup(), laid_), HasSubstr("unspecified launch failure"));
}

TEST_F(CudaFaults, ATypeThatTheDeviceDoesNotMultiplyIsNamed) {
  tests::fake::state().fail["cublasLtMatmulAlgoGetHeuristic"] = CUBLAS_STATUS_NOT_SUPPORTED;
  EXPECT_THAT(fault_of(laid_.setup(), laid_), HasSubstr("cuBLASLt has no product of bf16 into bf16"));
}

TEST_F(CudaFaults, AProductThatFailsIsAFault) {
  tests::fake::state().fail["cublasLtMatmul"] = CUBLAS_STATUS_EXECUTION_FAILED;
  EXPECT_THAT(fault_of(laid_.setup(), laid_), HasSubstr("CUBLAS_STATUS_OF_THE_FAKE"));
}

TEST_F(CudaFaults, ADeviceThatHangsIsGivenUp) {
  SilentPeers peers;
  DeviceBackend* backend = nullptr;
  DeviceSetup setup = of_one_rank(laid_, peers, 0);
  setup.silence_s = 0.05;
  const auto owner = std::make_unique<DeviceBackend>(setup);
  backend = owner.get();
  tests::fake::state().hangs = true;
  try {
    (void)laid_.execute_with(*backend);
    FAIL() << "a device on which nothing ends was waited for";
  } catch (const error::EnvironmentError& fault) {
    EXPECT_THAT(fault.what(), testing::AllOf(HasSubstr("nothing has ended"), HasSubstr("rank 0 waits at operation 1")));
  }
}

TEST_F(CudaFaults, AnNcclErrorOfACallIsAFault) {
  SilentPeers peers;
  tests::fake::state().fail["ncclSend"] = ncclRemoteError;
  EXPECT_THAT(fault_of(of_one_rank(laid_, peers, 0), laid_),
              testing::AllOf(HasSubstr("ncclSend("), HasSubstr("an NCCL error of the fake")));
}

TEST_F(CudaFaults, AnNcclErrorWhileWaitingIsAFault) {
  SilentPeers peers;
  const auto backend = std::make_unique<DeviceBackend>(of_one_rank(laid_, peers, 0));
  tests::fake::state().hangs = true;
  tests::fake::state().fail["ncclCommGetAsyncError"] = ncclRemoteError;
  try {
    (void)laid_.execute_with(*backend);
    FAIL() << "the error was not seen";
  } catch (const error::EnvironmentError& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("ncclCommGetAsyncError"));
  }
}

TEST_F(CudaFaults, HeadsThatAttentionDoesNotTakeAreRefused) {
  scenario::Scenario scenario = tests::small_scenario();
  scenario.model.heads = scenario.model.key_value_heads = 1;
  scenario.model.head_size = 256;
  scenario.strategy.fused_attention = true;
  const Laid laid(scenario);
  EXPECT_THAT(fault_of(laid.setup(), laid), HasSubstr("heads of up to 128 elements, not 256"));
}

}  // namespace
}  // namespace lamina::validate::cuda
