#include "tests/support/random_scenario.hpp"

#include <algorithm>

#include "sim/error/error.hpp"
#include "sim/pipeline/simulate.hpp"
#include "tests/support/paths.hpp"

namespace lamina::tests {
namespace {

int pick(std::mt19937& random, std::initializer_list<int> choices) {
  std::uniform_int_distribution<std::size_t> index(0, choices.size() - 1);
  return *(choices.begin() + index(random));
}

bool flip(std::mt19937& random) {
  return pick(random, {0, 1}) == 1;
}

/// Declared defaults of a plug-in's parameters.
template <class Catalog>
scenario::PluginChoice choose(const Catalog& catalog, const std::string& name) {
  const auto* entry = catalog.find(name);
  if (entry == nullptr) {
    throw error::InternalError("no plug-in " + name);
  }
  scenario::PluginChoice choice;
  choice.name = name;
  for (const catalog::ParameterSpec& spec : entry->info.parameters) {
    switch (spec.kind) {
      case catalog::ParameterKind::kChoice:
        choice.parameters.set_choice(spec.name, spec.default_value);
        break;
      case catalog::ParameterKind::kBoolean:
        choice.parameters.set_number(spec.name, spec.default_value == "true" ? 1 : 0);
        break;
      case catalog::ParameterKind::kSeconds:  // "4 us" and the like
        choice.parameters.set_number(spec.name, spec.default_value.starts_with("0 ") ? 0 : 4e-6);
        break;
      case catalog::ParameterKind::kFile:
        choice.parameters.set_choice(spec.name, (source_folder() / "scenarios/networks/two-halls.yaml").string());
        break;
      default:
        choice.parameters.set_number(spec.name, std::stod(spec.default_value));
    }
  }
  return choice;
}

/// Any topology with switches that fits the cluster's nodes (at most 20, for the graph) and ports.
scenario::PluginChoice random_topology(std::mt19937& random, const scenario::Cluster& cluster) {
  const char* names[] = {"fat_tree", "rail_optimized", "leaf_spine_ethernet", "dragonfly", "torus", "ring", "custom"};
  scenario::PluginChoice choice =
      choose(pipeline::builtin_catalogs().topologies, names[pick(random, {0, 1, 2, 3, 4, 5, 6})]);
  const auto set = [&](const char* name, double value) {
    if (choice.parameters.has(name)) {
      choice.parameters.set_number(name, value);
    }
  };
  const int size = pick(random, {1, 2, 3, 8});
  set("nodes_per_leaf", size);
  set("nodes_per_rail_switch", size);
  set("oversubscription", pick(random, {1, 2, 3}));
  set("core_oversubscription", pick(random, {1, 2, 3}));
  set("levels", pick(random, {2, 3}));
  set("leaves_per_pod", pick(random, {1, 2, 3}));
  set("planes", cluster.node.nics % 2 == 0 ? pick(random, {1, 2}) : 1);
  set("terminals_per_router", size);
  set("routers_per_group", pick(random, {2, 3, 4}));
  set("global_links_per_router", 36);  // enough for 68 ports in groups of two
  set("global_bandwidth", pick(random, {1, 2, 3}) / 2.0);
  set("size_y", cluster.nodes % 2 == 0 ? pick(random, {1, 2}) : 1);
  set("link_bandwidth", pick(random, {1, 2}));
  return choice;
}

scenario::Node small_node() {
  scenario::Node node;
  node.name = "small";
  node.devices = 4;
  node.accelerator.name = "small";
  node.accelerator.peak = {{scenario::DataType::kBf16, FlopsPerSecond(1e14)}};
  node.accelerator.memory = Bytes(80e9);
  node.accelerator.memory_bandwidth = BytesPerSecond(1e12);
  node.accelerator.multiprocessors = 100;
  node.device_link = {"nvlink", "", BytesPerSecond(50e9), Seconds(1e-6), {}};
  node.device_link_domain = 4;
  node.host_path = {"pcie", "", BytesPerSecond(10e9), Seconds(2e-6), 2};
  node.nics = 4;
  node.host_memory = Bytes(1e12);
  return node;
}

/// Products take twice and collectives five times as long to launch as other kernels.
void set_launch_intervals(scenario::Scenario& scenario, double kernel_s) {
  for (const char* thread : {"", "backward_"}) {
    catalog::Parameters& parameters = scenario.simulation.cost_model.parameters;
    parameters.set_number(std::string(thread) + "launch_interval", kernel_s);
    parameters.set_number(std::string(thread) + "product_launch_interval", 2 * kernel_s);
    parameters.set_number(std::string(thread) + "collective_launch_interval", 5 * kernel_s);
  }
}

}  // namespace

scenario::PluginChoice choose_schedule(const std::string& name) {
  return choose(pipeline::builtin_catalogs().schedules, name);
}

scenario::Scenario small_scenario() {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario::Scenario scenario;
  scenario.name = "small";
  scenario.model.name = "small";
  scenario.model.layers = 8;
  scenario.model.hidden = 1024;
  scenario.model.sequence_length = 512;
  scenario.model.heads = 16;
  scenario.model.key_value_heads = 16;
  scenario.model.head_size = 64;
  scenario.model.feed_forward = 4096;
  scenario.cluster.node = small_node();
  scenario.cluster.nodes = 1;
  scenario.cluster.network = {"network", "", BytesPerSecond(5e9), Seconds(3e-6), Seconds(1e-6), 1.0, {}};
  scenario.cluster.topology = choose(catalogs.topologies, "fat_tree");
  scenario.strategy.micro_batches = 4;
  scenario.strategy.schedule = choose(catalogs.schedules, "accumulate");
  scenario.simulation.cost_model = choose(catalogs.cost_models, "roofline");
  scenario.simulation.collective_algorithm = "ring";
  return scenario;
}

scenario::Scenario delayed_scenario(int ranks, int layers, double delay) {
  scenario::Scenario scenario = small_scenario();
  scenario.model.layers = layers;
  scenario.model.custom = scenario::CustomModel{};
  scenario.model.custom->forward = Seconds(1);
  scenario.model.custom->input_gradient = Seconds(1);
  scenario.model.custom->weight_gradient = Seconds(1);
  scenario.model.custom->message = Bytes(1);
  scenario.cluster.node.devices = 1;
  scenario.cluster.node.nics = 1;
  scenario.cluster.node.device_link_domain = 1;
  scenario.cluster.node.device_link.latency = Seconds(0);
  scenario.cluster.nodes = ranks;
  scenario.cluster.network = {"delay", "", BytesPerSecond(1e12), Seconds(delay), Seconds(0), 1.0, {}};
  scenario.strategy.pipeline_parallel = ranks;
  scenario.strategy.schedule = choose_schedule("one_forward_one_backward");
  scenario.strategy.update = scenario::Update::kWithReduction;  // no norm over the pipeline, which would be late too
  return scenario;
}

scenario::Scenario random_scenario(std::mt19937& random) {
  const pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario::Scenario scenario = small_scenario();
  scenario::Strategy& strategy = scenario.strategy;
  strategy.tensor_parallel = pick(random, {1, 2, 4});
  strategy.pipeline_parallel = pick(random, {1, 2, 4});
  strategy.data_parallel = pick(random, {1, 2, 3, 4});
  strategy.micro_batches = pick(random, {4, 6});
  strategy.sequence_parallel = strategy.tensor_parallel > 1 && flip(random);
  strategy.sliced_sends = flip(random);
  if (strategy.pipeline_parallel > 1) {
    const char* schedules[] = {"gpipe", "one_forward_one_backward", "layered_modular"};
    strategy.schedule = choose(catalogs.schedules, schedules[pick(random, {0, 1, 2})]);
  } else {
    strategy.schedule = choose(catalogs.schedules, flip(random) ? "accumulate" : "layered_modular");
  }
  strategy.sharding.level = static_cast<scenario::ShardingLevel>(pick(random, {0, 1, 2, 3}));
  strategy.sharding.prefetch = flip(random);
  strategy.sharding.weight_buffers = pick(random, {1, 2, 3});
  strategy.sharding.gradient_buffers = pick(random, {1, 2, 3});
  strategy.overlap = {flip(random), flip(random), flip(random), flip(random)};
  strategy.recompute = static_cast<scenario::Recompute>(pick(random, {0, 1, 2}));
  strategy.update = flip(random) ? scenario::Update::kWithReduction : scenario::Update::kAfterGlobalNorm;
  strategy.offload.state = pick(random, {0, 0, 1}) == 1;
  strategy.offload.update_on = flip(random) ? scenario::OffloadUpdate::kHost : scenario::OffloadUpdate::kDevice;
  strategy.offload.checkpoints = pick(random, {0, 0, 1}) == 1;
  std::shuffle(strategy.placement.begin(), strategy.placement.end(), random);
  scenario.cluster.node.nics = pick(random, {1, 2, 4});
  scenario.cluster.nodes = (strategy.ranks() + 3) / 4 + pick(random, {0, 1});
  const char* topologies[] = {"fat_tree", "rail_optimized", "leaf_spine_ethernet"};
  scenario.cluster.topology = choose(catalogs.topologies, topologies[pick(random, {0, 1, 2})]);
  auto& parameters = scenario.cluster.topology.parameters;
  for (const char* name : {"nodes_per_leaf", "nodes_per_rail_switch"}) {
    if (parameters.has(name)) {
      parameters.set_number(name, pick(random, {1, 2, 3, 8}));
    }
  }
  if (parameters.has("oversubscription")) {
    parameters.set_number("oversubscription", pick(random, {1, 2, 3}));
  }
  scenario.simulation.collective_algorithm = flip(random) ? "ring" : "hierarchical";
  if (flip(random)) {
    scenario.cluster.topology = random_topology(random, scenario.cluster);
  }
  std::mt19937 hosts = random;  // the draws of callers stay what they were
  if (flip(hosts)) {            // hosts that launch about as slowly as devices compute
    constexpr double kInterval = 2e-5;
    set_launch_intervals(scenario, kInterval);
    const bool batched = flip(hosts) && strategy.schedule.name != "layered_modular";  // which deadlocks under it
    strategy.point_to_point = batched ? scenario::PointToPoint::kFusedRendezvous : strategy.point_to_point;
  }
  return scenario;
}

void free_hosts(scenario::Scenario& scenario) {
  set_launch_intervals(scenario, 0);
}

void draw_protocols(scenario::Scenario& scenario, std::mt19937& random) {
  const auto protocols = [&](double unit) {
    std::vector<scenario::CollectiveProtocol> result = {
        {"LL", "", Seconds(unit), Seconds(unit / 8), pick(random, {1, 2}) / 16.0},
        {"LL128", "", Seconds(2 * unit), Seconds(unit / 4), pick(random, {1, 3}) / 4.0},
        {"Simple", "", Seconds(pick(random, {4, 8}) * unit), Seconds(unit), 1}};
    if (flip(random)) {
      result.push_back({"NVLS", "nvls", Seconds(5 * unit), Seconds(0), 0.75});
    }
    if (flip(random)) {
      result.push_back({"SHARP", "sharp", Seconds(3 * unit), Seconds(0), 0.5});
    }
    return result;
  };
  scenario.cluster.node.device_link.protocols = protocols(1e-6);
  scenario.cluster.network.protocols = protocols(5e-6);
  const char* algorithms[] = {"automatic", "automatic", "tree", "nvls", "sharp", "ring"};
  scenario.simulation.collective_algorithm = algorithms[pick(random, {0, 1, 2, 3, 4, 5})];
}

}  // namespace lamina::tests
