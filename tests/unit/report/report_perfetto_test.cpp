#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error/error.hpp"
#include "sim/report/perfetto.hpp"
#include "tests/unit/report/trace_decoder.hpp"

namespace lamina::report {
namespace {

using decoder::Event;
using decoder::Trace;
using decoder::Track;
using ::testing::ElementsAre;

constexpr double kMicro = 1e-6;

graph::Operation compute(graph::Phase phase, int stage, int micro_batch) {
  graph::Operation operation;
  operation.phase = phase;
  operation.stage = stage;
  operation.layer = stage;
  operation.micro_batch = micro_batch;
  operation.flops = 1e12;
  return operation;
}

graph::Operation message(graph::OperationKind kind, int stage, int micro_batch, int channel) {
  graph::Operation operation;
  operation.kind = kind;
  operation.phase = graph::Phase::kPipeline;
  operation.traffic = graph::Traffic::kPipeline;
  operation.stream = static_cast<std::uint16_t>(1 + channel);
  operation.channel = static_cast<std::uint16_t>(channel);
  operation.stage = stage;
  operation.micro_batch = micro_batch;
  operation.bytes = 4096;
  return operation;
}

/// Two pipeline ranks and `count` micro-batches. Times in microseconds: rank 0 computes F of micro-batch k in [2k, 2k +
/// 1], sends it in [2k + 1, 2k + 2]; rank 1 receives it then and computes it in [2k + 2, 2k + 3]; then the gradients go
/// back.
struct Example {
  graph::OperationGraph graph;
  deployment::Deployment deployment;
  timeline::Timeline timeline;
};

graph::Program make_program(int rank, int count) {
  graph::Program program;
  const bool first = rank == 0;
  program.streams = {{graph::StreamKind::kCompute, "compute"}};
  program.channels = {{1 - rank, 0, first, false}, {1 - rank, 1, !first, true}};
  for (const graph::Channel& channel : program.channels) {
    program.streams.push_back(channel.sends ? graph::Stream{graph::StreamKind::kPipelineSend, "send"}
                                            : graph::Stream{graph::StreamKind::kPipelineReceive, "receive"});
  }
  for (int k = 0; k < count; ++k) {
    program.operations.push_back(compute(graph::Phase::kForward, rank, k));
    program.operations.push_back(
        message(first ? graph::OperationKind::kSend : graph::OperationKind::kReceive, first ? 0 : 1, k, 0));
  }
  for (int k = 0; k < count; ++k) {
    program.operations.push_back(compute(graph::Phase::kBackward, rank, k));
    program.operations.push_back(
        message(first ? graph::OperationKind::kReceive : graph::OperationKind::kSend, first ? 0 : 1, k, 1));
  }
  program.initial_memory[static_cast<int>(graph::MemoryCategory::kState)] = 1000;
  program.memory_effects = {{0, false, graph::MemoryCategory::kCheckpoints, 64},
                            {static_cast<std::uint32_t>(2 * count), true, graph::MemoryCategory::kCheckpoints, -64}};
  return program;
}

/// Which of the program's operations pair up: the k-th send with the k-th receive of each direction, which stand at the
/// same positions in both programs.
graph::OperationGraph make_graph(int count) {
  graph::OperationGraph graph;
  graph.programs = {make_program(0, count), make_program(1, count)};
  const auto size = static_cast<std::uint32_t>(4 * count);
  graph.first_vertex = {0, size, 2 * size};
  graph.partner.assign(2 * size, graph::OperationGraph::kNoPartner);
  for (std::uint32_t operation = 1; operation < size; operation += 2) {
    graph.partner[operation] = size + operation;
    graph.partner[size + operation] = operation;
  }
  return graph;
}

std::vector<timeline::Span> make_spans(int rank, int count) {
  std::vector<timeline::Span> spans;
  for (int k = 0; k < count; ++k) {
    const double start = 2.0 * k * kMicro;
    spans.push_back(rank == 0 ? timeline::Span{start, start + kMicro}
                              : timeline::Span{start + 2 * kMicro, start + 3 * kMicro});
    spans.push_back({start + kMicro, start + 2 * kMicro});
  }
  for (int k = 0; k < count; ++k) {
    const double start = (2.0 * count + 10 + 2.0 * k) * kMicro;
    spans.push_back(rank == 1 ? timeline::Span{start, start + kMicro}
                              : timeline::Span{start + 2 * kMicro, start + 3 * kMicro});
    spans.push_back({start + kMicro, start + 2 * kMicro});
  }
  return spans;
}

Example make_example(int count) {
  Example example;
  example.graph = make_graph(count);
  example.deployment.links = {{fabric::LinkClass::kPort, 1e9, 1, 8, false, 0},
                              {fabric::LinkClass::kPort, 1e9, 2, 8, false, 1}};
  example.deployment.paths = {{{{0, 1}}, 0}, {{{1, 3}}, 0}};
  example.deployment.channels = {{0, 1, 0}, {1, 0, 0}};
  example.deployment.total_ranks = 8;
  for (int rank = 0; rank < 2; ++rank) {
    deployment::Rank entry;
    entry.program = rank;
    entry.device = rank;
    entry.multiplicity = 4;
    entry.channels = {0, 1};
    example.deployment.ranks.push_back(entry);
    example.timeline.spans.push_back(make_spans(rank, count));
  }
  example.timeline.end_s = example.timeline.spans[0].back().end + kMicro;
  return example;
}

Trace trace_of(const Example& example) {
  return decoder::read_trace(to_perfetto(example.graph, example.deployment, example.timeline, "example"));
}

std::vector<std::string> names_of(const Track& track) {
  std::vector<std::string> names;
  for (const Event& event : track.events) {
    if (event.type == 1) {
      names.push_back(event.name);
    }
  }
  return names;
}

/// Begin and end alternate, time never goes back.
void expect_flat_and_monotone(const Trace& trace) {
  for (const auto& [uuid, track] : trace.tracks) {
    std::uint64_t latest = 0;
    int open = 0;
    for (const Event& event : track.events) {
      EXPECT_GE(event.time_ns, latest) << track.name;
      latest = event.time_ns;
      open += event.type == 1 ? 1 : event.type == 2 ? -1 : 0;
      EXPECT_TRUE(open == 0 || open == 1) << "nested or unbalanced slice on " << track.name;
      EXPECT_EQ(event.type == 4, track.is_counter) << track.name;
    }
    EXPECT_EQ(open, 0) << track.name;
  }
}

TEST(PerfettoTrace, PutsAnExecutionUnderItsPrediction) {
  const Example example = make_example(3);
  Example slower = example;
  for (auto& spans : slower.timeline.spans) {
    for (timeline::Span& span : spans) {
      span = {2 * span.start, 2 * span.end};
    }
  }
  const Trace trace =
      decoder::read_trace(to_perfetto(example.graph, example.deployment, example.timeline, slower.timeline, "example"));
  EXPECT_THAT(trace.processes(),
              ElementsAre("predicted: pipeline rank 0 (4 devices)", "measured: pipeline rank 0 (4 devices)",
                          "predicted: pipeline rank 1 (4 devices)", "measured: pipeline rank 1 (4 devices)"));
  expect_flat_and_monotone(trace);
  const Track& predicted = trace.track("predicted: pipeline rank 1 (4 devices)", "compute");
  const Track& measured = trace.track("measured: pipeline rank 1 (4 devices)", "compute");
  EXPECT_EQ(names_of(predicted), names_of(measured));
  EXPECT_NEAR(static_cast<double>(measured.events.back().time_ns),
              2 * static_cast<double>(predicted.events.back().time_ns), 2);
}

TEST(PerfettoTrace, HasAProcessPerRoleAndATrackPerStream) {
  const Trace trace = trace_of(make_example(3));
  EXPECT_THAT(trace.processes(), ElementsAre("pipeline rank 0 (4 devices)", "pipeline rank 1 (4 devices)"));
  EXPECT_THAT(names_of(trace.track("pipeline rank 0 (4 devices)", "compute")),
              ElementsAre("0F0", "0F1", "0F2", "0B0", "0B1", "0B2"));
  EXPECT_THAT(names_of(trace.track("pipeline rank 0 (4 devices)", "send")),
              ElementsAre("0SEND_F0", "0SEND_F1", "0SEND_F2"));
  EXPECT_THAT(names_of(trace.track("pipeline rank 1 (4 devices)", "receive")),
              ElementsAre("1RECV_F0", "1RECV_F1", "1RECV_F2"));
}

TEST(PerfettoTrace, HasBalancedSlicesInTimeOrderWithoutNesting) {
  expect_flat_and_monotone(trace_of(make_example(20)));
}

TEST(PerfettoTrace, BeginsAndEndsEachOperationOnceInNanoseconds) {
  const Trace trace = trace_of(make_example(5));
  std::map<int, int> events;
  for (const auto& [uuid, track] : trace.tracks) {
    for (const Event& event : track.events) {
      ++events[event.type];
    }
  }
  EXPECT_EQ(events[1], 2 * 4 * 5);
  EXPECT_EQ(events[2], 2 * 4 * 5);
  const Track& compute_track = trace.track("pipeline rank 1 (4 devices)", "compute");
  EXPECT_EQ(compute_track.events[2].time_ns, 4000U);  // F of micro-batch 1 in [4 us, 5 us]
  EXPECT_EQ(compute_track.events[3].time_ns, 5000U);
}

TEST(PerfettoTrace, CarriesLayerMicroBatchBytesAndPhaseAsArguments) {
  const Trace trace = trace_of(make_example(2));
  const Event& forward = trace.track("pipeline rank 1 (4 devices)", "compute").events[2];
  EXPECT_EQ(forward.category, "compute");
  EXPECT_EQ(forward.arguments.at("phase"), "forward");
  EXPECT_EQ(forward.arguments.at("layer"), "1");
  EXPECT_EQ(forward.arguments.at("stage"), "1");
  EXPECT_EQ(forward.arguments.at("micro_batch"), "1");
  EXPECT_EQ(forward.arguments.at("flops"), std::to_string(1e12));
  const Event& send = trace.track("pipeline rank 0 (4 devices)", "send").events[0];
  EXPECT_EQ(send.category, "pipeline");
  EXPECT_EQ(send.arguments.at("bytes"), std::to_string(4096.0));
}

TEST(PerfettoTrace, JoinsEachSendToItsReceiveByOneArrowThatStartsAtTheSend) {
  const Trace trace = trace_of(make_example(3));
  std::map<std::uint64_t, std::vector<std::string>> ends;
  for (const std::uint64_t flow : trace.flow_order) {
    ends[flow];
  }
  for (const auto& [uuid, track] : trace.tracks) {
    for (const Event& event : track.events) {
      for (const std::uint64_t flow : event.flows) {
        ends[flow].push_back(event.name);
      }
    }
  }
  ASSERT_EQ(ends.size(), 6U);
  for (auto& [flow, names] : ends) {
    ASSERT_EQ(names.size(), 2U);
    std::sort(names.begin(), names.end());
    EXPECT_NE(names[0].find("RECV"), names[1].find("RECV"));                        // one receives, one sends
    EXPECT_EQ(names[0].back(), names[1].back());                                    // the same micro-batch
    EXPECT_EQ(names[0][names[0].find('_') + 1], names[1][names[1].find('_') + 1]);  // F with F, B with B
  }
}

/// The viewer sorts by time and keeps file order among equals, and an arrow starts at the first end it meets.
TEST(PerfettoTrace, WritesSendsBeforeReceivesInTheFile) {
  const Trace trace = trace_of(make_example(3));
  std::set<std::uint64_t> seen;
  const std::size_t half = trace.flow_order.size() / 2;
  for (std::size_t i = 0; i < trace.flow_order.size(); ++i) {
    EXPECT_EQ(seen.insert(trace.flow_order[i]).second, i < half);
  }
  std::set<std::uint64_t> sent;
  for (const char* process : {"pipeline rank 0 (4 devices)", "pipeline rank 1 (4 devices)"}) {
    for (const Event& event : trace.track(process, "send").events) {
      sent.insert(event.flows.begin(), event.flows.end());
    }
  }
  EXPECT_EQ(sent, std::set<std::uint64_t>(trace.flow_order.begin(), trace.flow_order.begin() + 6));
}

TEST(PerfettoTrace, CountsMemoryByCategory) {
  const Trace trace = trace_of(make_example(2));
  const Track& state = trace.track("pipeline rank 0 (4 devices)", "memory: state");
  ASSERT_EQ(state.events.size(), 1U);
  EXPECT_TRUE(state.in_bytes);
  EXPECT_EQ(state.events[0].counter, 1000);
  const Track& checkpoints = trace.track("pipeline rank 0 (4 devices)", "memory: checkpoints");
  ASSERT_EQ(checkpoints.events.size(), 2U);  // taken at time 0, given back at the end of backward of micro-batch 0
  EXPECT_EQ(checkpoints.events[0].counter, 64);
  EXPECT_EQ(checkpoints.events[1].counter, 0);
  EXPECT_EQ(checkpoints.events[1].time_ns, 17000U);
  EXPECT_THROW((void)trace.track("pipeline rank 0 (4 devices)", "memory: gradients"), std::runtime_error);
}

TEST(PerfettoTrace, ShowsTheLoadOfTheBusiestLinkOfEachClass) {
  Example example = make_example(1);
  // Link 1 carries 3 crossings x divisor 2 of the second path's bytes: 6 x 500 > 2 x 1000 of link 0.
  example.timeline.flows = {{0, 0, 1 * kMicro, 1000},
                            {0, 1 * kMicro, 2 * kMicro, 1000},
                            {1, 2 * kMicro, 4 * kMicro, 250},
                            {1, 3 * kMicro, 4 * kMicro, 250}};
  const Trace trace = trace_of(example);
  const Track& load = trace.track("network (busiest link of each class)", "load: port, bytes/s");
  std::vector<std::pair<std::uint64_t, double>> samples;
  for (const Event& event : load.events) {
    samples.emplace_back(event.time_ns, event.counter);
  }
  ASSERT_EQ(samples.size(), 4U);
  EXPECT_EQ(samples[0], std::make_pair(std::uint64_t{0}, 0.0));
  EXPECT_EQ(samples[1].first, 2000U);
  EXPECT_NEAR(samples[1].second, 6 * 250 / (2 * kMicro), 1);
  EXPECT_EQ(samples[2].first, 3000U);
  EXPECT_NEAR(samples[2].second, 6 * 250 / (2 * kMicro) + 6 * 250 / kMicro, 1);
  EXPECT_EQ(samples[3], std::make_pair(std::uint64_t{4000}, 0.0));  // exactly idle, no rest of rounding
}

TEST(PerfettoTrace, ShowsReplicasOnceUnlessTheyDiffer) {
  Example example = make_example(2);
  deployment::Rank twin = example.deployment.ranks[0];
  twin.data = 1;
  example.deployment.ranks.push_back(twin);
  example.timeline.spans.push_back(example.timeline.spans[0]);
  EXPECT_THAT(trace_of(example).processes(), ElementsAre("pipeline rank 0 (8 devices)", "pipeline rank 1 (4 devices)"));
  example.deployment.ranks[2].multiplicity = 1;
  example.timeline.spans[2].back().end += 0.5 * kMicro;
  EXPECT_THAT(
      trace_of(example).processes(),
      ElementsAre("pipeline rank 0 (4 devices)", "pipeline rank 0 (data 1, tensor 0)", "pipeline rank 1 (4 devices)"));
}

TEST(PerfettoTrace, DoesNotNestNeighboursThatOverlapByRounding) {
  Example example = make_example(3);
  example.timeline.spans[0][2].start = example.timeline.spans[0][0].end - 1e-9;
  expect_flat_and_monotone(trace_of(example));
}

TEST(PerfettoTrace, IsByteIdenticalForTheSameTimeline) {
  const Example a = make_example(7);
  const Example b = make_example(7);
  EXPECT_EQ(to_perfetto(a.graph, a.deployment, a.timeline, "x"), to_perfetto(b.graph, b.deployment, b.timeline, "x"));
}

TEST(PerfettoTrace, RefusesATimelineOfAnotherDeployment) {
  Example example = make_example(2);
  example.timeline.spans[1].pop_back();
  EXPECT_THROW((void)trace_of(example), error::InternalError);
  example.timeline.spans.pop_back();
  EXPECT_THROW((void)trace_of(example), error::InternalError);
  example = make_example(2);
  example.timeline.flows = {{99, 0, 1, 1}};
  EXPECT_THROW((void)trace_of(example), error::InternalError);
}

TEST(PerfettoTrace, WritesHalfAMillionOperationsWithinSeconds) {
  const Example example = make_example(62500);  // 2 ranks x 4 x 62,500 operations
  const std::clock_t start = std::clock();      // processor time: other processes do not count
  const std::string trace = to_perfetto(example.graph, example.deployment, example.timeline, "big");
  const double elapsed_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_GT(trace.size(), 500000U * 40);
  EXPECT_LT(elapsed_s, 10);  // the aim is 2 s; the rest is for sanitizers
  RecordProperty("processor_seconds", std::to_string(elapsed_s));
  RecordProperty("bytes", std::to_string(trace.size()));
}

}  // namespace
}  // namespace lamina::report
