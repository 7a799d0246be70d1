#include "sim/scenario/schema_keys.hpp"

namespace lamina::scenario {
namespace {

KeySpec kind() {
  return required(key("kind", ValueKind::kText, "As in the heading."));
}

KeySpec number_of(std::string name, std::string help) {
  return between(0, 1e7, key(std::move(name), ValueKind::kInteger, std::move(help)));
}

KeySpec node() {
  return with_default_text("none", number_of("node", "Node, counted from 0."));
}

KeySpec device(std::string without_node) {
  return with_default_text(std::move(without_node),
                           number_of("device", "Device: within `node`, or within the cluster without `node`."));
}

Section slow_device() {
  return {
      "disturb slow_device",
      "disturb: slow_device",
      "A device, or all devices of a node, that compute more slowly.",
      "",
      {kind(), node(), device("all of `node`"),
       required(positive(between(
           0, 1e6, key("factor", ValueKind::kNumber, "Compute takes this many times as long; below 1: faster."))))}};
}

Section slow_link() {
  return {
      "disturb slow_link",
      "disturb: slow_link",
      "A link with less than its bandwidth, for good or over time. Give `node` and `port` (both directions of a "
      "network port) or `link`.",
      "",
      {kind(), with_default_text("none", number_of("node", "Node of the port, counted from 0.")),
       with_default_text("required with `node`", number_of("port", "Port within the node, counted from 0.")),
       with_default_text("none", key("link", ValueKind::kText,
                                     "Name of one link, one direction: `node 3 port 1 up`, `leaf 2 up`, `device 12 "
                                     "to domain switch`; `lamina explain` prints the names of a scenario.")),
       with_default_text("exactly one of share and profile",
                         instead_of("profile", between(1e-6, 1,
                                                       key("share", ValueKind::kNumber,
                                                           "Share of the bandwidth that is left all the "
                                                           "time.")))),
       with_default_text("exactly one of share and profile",
                         instead_of("share", items("disturb profile", {}, "profile",
                                                   "Shares of the bandwidth over time; the first is from `0 s`."))),
       with_default_text(
           "the last share lasts",
           positive(between(
               0, 1e6, key("period", ValueKind::kSeconds, "The profile starts again after this: a flapping link."))))}};
}

Section profile() {
  return {"disturb profile",
          "disturb: slow_link: profile",
          "",
          "",
          {required(between(0, 1e6, key("at", ValueKind::kSeconds, "Time from the start of the step."))),
           required(between(0, 1,
                            key("share", ValueKind::kNumber,
                                "Share of the bandwidth from then on; 0: nothing passes, else at least 1e-6.")))}};
}

Section failed_port() {
  return {"disturb failed_port",
          "disturb: failed_port",
          "A network port (NIC, rail) that is gone. Its devices use the node's next port that is left.",
          "",
          {kind(), required(number_of("node", "Node, counted from 0.")),
           required(number_of("port", "Port within the node, counted from 0."))}};
}

Section host_delay() {
  return {"disturb host_delay",
          "disturb: host_delay",
          "The host of one device stalls it: garbage collection, a slow data loader.",
          "",
          {kind(), node(), required(device("")),
           required(positive(between(0, 1e6, key("delay", ValueKind::kSeconds, "Length of one stall.")))),
           with_default("1", between(1, 1e9,
                                     key("every", ValueKind::kInteger,
                                         "The stall comes before every n-th compute operation.")))}};
}

Section jitter() {
  return {"disturb jitter",
          "disturb: jitter",
          "Every operation takes a random factor longer or shorter; the step is simulated several times and its times "
          "are reported as a distribution.",
          "",
          {kind(),
           with_default("log_normal",
                        one_of({"log_normal", "exponential"},
                               key("distribution", ValueKind::kChoice,
                                   "Of the factor. `log_normal`: mean 1. `exponential`: 1 plus an exponential tail."))),
           required(positive(between(
               0, 10, key("standard_deviation", ValueKind::kNumber, "Of the factor: 0.05 is 5 % of the duration.")))),
           with_default("1", between(0, 9e15, key("seed", ValueKind::kInteger, "Equal seeds give equal results."))),
           with_default("20", between(1, 10000, key("repeats", ValueKind::kInteger, "Steps that are simulated.")))}};
}

}  // namespace

std::vector<Section> disturbance_sections() {
  return {slow_device(), slow_link(), profile(), failed_port(), host_delay(), jitter()};
}

}  // namespace lamina::scenario
