#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/explain/members.hpp"
#include "sim/explain/sections.hpp"

namespace lamina::explain {
namespace {

BytesPerSecond slowest(const fabric::Fabric& fabric, const std::vector<fabric::LinkId>& links) {
  double slowest = std::numeric_limits<double>::infinity();
  for (const fabric::LinkId link : links) {
    slowest = std::min(slowest, fabric.links.at(static_cast<std::size_t>(link)).bandwidth.value());
  }
  return BytesPerSecond(slowest);
}

std::string link_names(const fabric::Fabric& fabric, const std::vector<fabric::LinkId>& links) {
  std::string text;
  for (const fabric::LinkId link : links) {
    text += text.empty() ? "" : ", ";
    text += fabric::link_name(fabric, link);
  }
  return text;
}

void write_route(Writer& writer, const fabric::Fabric& fabric, const std::string& name, const fabric::Route& route,
                 Bytes bytes) {
  if (route.links.empty()) {
    return;
  }
  const BytesPerSecond rate = slowest(fabric, route.links);
  writer.number("route: " + name, text_of(rate), fmt::format("slowest of: {}", link_names(fabric, route.links)));
  writer.number("  latency", text_of(route.latency), "ends and switches of that route",
                "network, device_link and host_path");
  if (bytes.value() > 0) {
    writer.number("  alone on the network", text_of(route.latency + bytes / rate),
                  fmt::format("latency + {} / {}", text_of(bytes), text_of(rate)));
  }
}

/// One kind of collective on an idle network.
struct Exchange {
  const char* name;
  graph::CollectiveKind kind;
  Bytes payload;
  std::string meaning;  ///< of the payload
};

void write_exchange(Writer& writer, const Subject& subject, const std::vector<int>& devices, const Exchange& exchange) {
  const auto* algorithm = subject.catalogs.collectives.find(subject.scenario.simulation.collective_algorithm);
  if (algorithm == nullptr || exchange.payload.value() <= 0) {
    return;
  }
  const auto& fabric = subject.prepared.fabric;
  const auto plans = collectives::make_plans(*algorithm->implementation, exchange.kind, devices, fabric);
  const auto plan = std::find_if(plans.begin(), plans.end(), [&](const collectives::Plan& one) {
    return one.range.contains(exchange.payload.value());
  });
  const std::string under = plan->protocol.empty() ? "" : fmt::format(" under {}", plan->protocol);
  writer.number(exchange.name, text_of(plan->latency + Seconds(exchange.payload.value() * plan->s_per_byte)),
                fmt::format("{} of {} among {} ranks in {} phase(s): {}", graph::name_of(exchange.kind),
                            text_of(exchange.payload), devices.size(), plan->phases.size(), exchange.meaning),
                fmt::format("{}{}", plan->algorithm, under));
}

void write_tensor(Writer& writer, const Subject& subject) {
  const auto& strategy = subject.scenario.strategy;
  const auto devices = group_devices(strategy, scenario::Dimension::kTensor);
  const auto& blocks = subject.prepared.work.layer.blocks;
  if (devices.size() < 2 || blocks.empty()) {
    return;
  }
  const Bytes payload = blocks.front().tensor_payload;
  const std::string meaning = "b s h elements, per block and pass";
  if (strategy.sequence_parallel) {
    write_exchange(writer, subject, devices,
                   {"tensor all-gather", graph::CollectiveKind::kAllGather, payload, meaning});
    write_exchange(writer, subject, devices,
                   {"tensor reduce-scatter", graph::CollectiveKind::kReduceScatter, payload, meaning});
  } else {
    write_exchange(writer, subject, devices,
                   {"tensor all-reduce", graph::CollectiveKind::kAllReduce, payload, meaning});
  }
}

void write_data(Writer& writer, const Subject& subject) {
  const auto& strategy = subject.scenario.strategy;
  const auto devices = group_devices(strategy, scenario::Dimension::kData);
  if (devices.size() < 2) {
    return;
  }
  const auto& layer = subject.prepared.work.layer;
  if (strategy.sharding.level == scenario::ShardingLevel::kNone) {
    write_exchange(writer, subject, devices,
                   {"reduce, one layer", graph::CollectiveKind::kAllReduce, layer.gradient_bytes, "its gradients"});
    return;
  }
  write_exchange(writer, subject, devices,
                 {"reduce, one layer", graph::CollectiveKind::kReduceScatter, layer.gradient_bytes, "its gradients"});
  write_exchange(writer, subject, devices,
                 {"restore, one layer", graph::CollectiveKind::kAllGather, layer.weight_bytes, "its weights"});
}

}  // namespace

void write_network(Writer& writer, const Subject& subject) {
  const auto& strategy = subject.scenario.strategy;
  const auto& fabric = subject.prepared.fabric;
  const auto& work = subject.prepared.work;
  writer.section(fmt::format("Network: {}", fabric.description));
  const bool sliced = strategy.tensor_parallel > 1 && (strategy.sliced_sends || strategy.sequence_parallel);
  const Bytes message = sliced ? work.message / strategy.tensor_parallel : work.message;
  if (strategy.pipeline_parallel > 1) {
    writer.number("pipeline message per rank", text_of(message),
                  sliced ? fmt::format("b s h elements / {} tensor ranks", strategy.tensor_parallel)
                         : std::string("b s h elements"),
                  "arXiv 2104.04473, section 4.1");
  }
  for (const auto dimension :
       {scenario::Dimension::kTensor, scenario::Dimension::kData, scenario::Dimension::kPipeline}) {
    const auto devices = group_devices(strategy, dimension);
    if (devices.size() < 2) {
      continue;
    }
    const bool pipeline = dimension == scenario::Dimension::kPipeline;
    const char* kind = pipeline ? "pipeline" : dimension == scenario::Dimension::kData ? "data" : "tensor";
    write_route(writer, fabric, fmt::format("{}, device {} to {}", kind, devices[0], devices[1]),
                fabric::route(fabric, devices[0], devices[1]), pipeline ? message : Bytes(0));
  }
  if (strategy.offload.state || strategy.offload.checkpoints) {
    write_route(writer, fabric, "device 0 to host memory", fabric::host_route(fabric, 0, true), Bytes(0));
  }
  write_tensor(writer, subject);
  write_data(writer, subject);
}

}  // namespace lamina::explain
