#include "sim/scenario/schema_keys.hpp"

namespace lamina::scenario {
namespace {

/// Keys that every catalogue entry has.
std::vector<KeySpec> entry_keys(std::vector<KeySpec> own) {
  std::vector<KeySpec> keys = {
      with_default_text("none", key("base", ValueKind::kText, "Catalogue entry that the other keys change.")),
      with_default_text("from `base`, else `inline`", key("name", ValueKind::kText, "What reports call it.")),
      with_default_text("from `base`", key("source", ValueKind::kText, "Where the numbers come from.")),
      with_default_text("from `base`", key("summary", ValueKind::kText, "One sentence for `lamina list`."))};
  keys.insert(keys.end(), own.begin(), own.end());
  return keys;
}

/// At least 1 B/s: below, transfers last longer than the replay's clock can tell moments apart.
KeySpec rate(std::string name, std::string help) {
  return required(at_least(1, key(std::move(name), ValueKind::kBytesPerSecond, std::move(help))));
}

KeySpec latency(std::string name, std::string help) {
  return required(between(0, 1, key(std::move(name), ValueKind::kSeconds, std::move(help))));
}

Section cluster_section() {
  return {
      "cluster",
      "cluster",
      "",
      "",
      {required(to("node", key("node", ValueKind::kReference, "One machine."))),
       with_default("1", between(1, 1e6, key("nodes", ValueKind::kInteger, "Number of machines, all alike."))),
       with_default_text("the node's", to("accelerator", key("accelerator", ValueKind::kReference,
                                                             "Replaces (a name) or changes (a mapping) the accelerator "
                                                             "of the node."))),
       with_default_text("required unless the topology is `nvlink_switch`",
                         to("network", key("network", ValueKind::kReference, "Ports and links between the machines."))),
       with_default_text("`fat_tree`; `nvlink_switch` when there is no network",
                         to(std::string(kTopologyKind),
                            key("topology", ValueKind::kPlugin,
                                "How machines are wired: a name, or a mapping with `name` and parameters.")))}};
}

Section node_section() {
  return {
      "node", "cluster.node",
      "A name of the catalogue (`lamina list hardware`), a mapping with `base` and changes, or a whole definition.",
      "base",
      entry_keys(
          {required(between(1, 1024, key("devices", ValueKind::kInteger, "Accelerators in the node."))),
           required(to("accelerator", key("accelerator", ValueKind::kReference, "The accelerator."))),
           required(to("device_link", key("device_link", ValueKind::kReference, "Links between accelerators."))),
           with_default_text("`devices`", between(1, 1e6,
                                                  key("device_link_domain", ValueKind::kInteger,
                                                      "Accelerators in one switch domain; divides "
                                                      "`devices`, or is a multiple of it."))),
           required(to("host_path", key("host_path", ValueKind::kReference, "Path to the host's memory."))),
           required(between(
               0, 1024, key("nics", ValueKind::kInteger, "Network ports of the node, at most one per accelerator."))),
           required(positive(key("host_memory", ValueKind::kBytes, "Memory of the host.")))})};
}

Section accelerator_section() {
  return {"accelerator", "cluster.node.accelerator", "", "base",
          entry_keys({required(to("peak", key("peak", ValueKind::kSection, "Dense peak rates by data type."))),
                      required(positive(key("memory", ValueKind::kBytes, "Capacity of the device memory."))),
                      rate("memory_bandwidth", "Of the device memory."),
                      required(between(1, 100'000,
                                       key("multiprocessors", ValueKind::kInteger,
                                           "Streaming multiprocessors (tiles of a kernel run on them)."))),
                      with_default_text("none", to(std::string(kCostModelKind),
                                                   key("cost_model", ValueKind::kPlugin,
                                                       "Cost model with parameters measured on this accelerator: the "
                                                       "default of `simulation.cost_model`.")))})};
}

Section peak_section() {
  std::vector<KeySpec> keys;
  for (const char* type : {"fp32", "tf32", "fp16", "bf16", "fp8"}) {
    keys.push_back(with_default_text(
        "not supported", at_least(1, key(type, ValueKind::kFlopsPerSecond, "Matrix products, without sparsity."))));
  }
  return {"peak", "cluster.node.accelerator.peak", "At least one type.", "", keys};
}

KeySpec protocols(std::string which) {
  return with_default_text("none: at once, at the links' rate",
                           items("protocols", {}, "protocols",
                                 "Ways in which a library runs collectives " + std::move(which) +
                                     "; each payload takes the one that is fastest on an idle network."));
}

Section protocol_section() {
  return {"protocols",
          "cluster.node.device_link.protocols and cluster.network.protocols",
          "A collective takes `start` + the latency of its hops + hops x `hop` + bytes / (rate x `efficiency`).",
          "",
          {required(key("name", ValueKind::kText, "LL, LL128, Simple, ...")),
           with_default_text("every algorithm that no protocol of these links names",
                             one_of({"ring", "tree", "hierarchical", "nvls", "sharp"},
                                    key("algorithm", ValueKind::kChoice,
                                        "The one that it holds for; `nvls` and `sharp` are what "
                                        "`algorithm: automatic` takes up when they are named."))),
           with_default("0 s", between(0, 1,
                                       key("start", ValueKind::kSeconds,
                                           "Start of the kernel, synchronisation of the members, filling of the "
                                           "pipeline."))),
           with_default("0 s", between(0, 1,
                                       key("hop", ValueKind::kSeconds,
                                           "For every hop that follows another, beside the route's latency."))),
           with_default("1", between(1e-6, 1,
                                     key("efficiency", ValueKind::kNumber,
                                         "Share of the links' rate. In a collective that leaves its domain, `hop` and "
                                         "`efficiency` inside are those of the device links' protocol of the same "
                                         "name.")))}};
}

Section device_link_section() {
  return {"device_link", "cluster.node.device_link", "", "base",
          entry_keys({rate("bandwidth", "Per accelerator and direction."),
                      latency("latency", "From accelerator through the switch to another accelerator."),
                      protocols("inside a domain")})};
}

Section host_path_section() {
  return {"host_path", "cluster.node.host_path", "", "base",
          entry_keys({rate("bandwidth", "Per link and direction."), latency("latency", "Of one copy."),
                      with_default("1", between(1, 1024,
                                                key("shared_by", ValueKind::kInteger,
                                                    "Accelerators behind one link; the last link may have fewer.")))})};
}

Section network_section() {
  return {"network", "cluster.network",
          "A name of the catalogue (`lamina list hardware`), a mapping with `base` and changes, or a whole definition.",
          "base",
          entry_keys({rate("bandwidth", "Of one port, per direction, on the wire."),
                      latency("port_latency", "Network card and protocol stack, per message and pair of ends."),
                      latency("switch_latency", "Of every switch crossed."),
                      with_default("1", between(0.001, 1,
                                                key("efficiency", ValueKind::kNumber,
                                                    "Share of `bandwidth` that a long message "
                                                    "reaches."))),
                      protocols("that leave a domain")})};
}

}  // namespace

std::vector<Section> hardware_sections() {
  return {cluster_section(),     node_section(),      accelerator_section(), peak_section(),
          device_link_section(), host_path_section(), network_section(),     protocol_section()};
}

}  // namespace lamina::scenario
