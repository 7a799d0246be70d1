#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "sim/catalog/catalog.hpp"
#include "sim/error/error.hpp"
#include "sim/scenario/resolve.hpp"

namespace lamina::scenario {
namespace {

/// A published figure has the dimension that its name ends in: "step.time_s" is a time, "memory.breakdown_bytes.state"
/// an amount of bytes. "tokens_per_s" is a plain number, as in the JSON report.
ValueKind kind_of_name(const std::string& name) {
  std::size_t end = name.size();
  while (end != std::string::npos && end > 0) {
    const std::size_t dot = name.rfind('.', end - 1);
    const std::string part =
        name.substr(dot == std::string::npos ? 0 : dot + 1, end - (dot == std::string::npos ? 0 : dot + 1));
    if (part.ends_with("_bytes_per_s")) {
      return ValueKind::kBytesPerSecond;
    }
    if (part.ends_with("_bytes") || part == "bytes") {
      return ValueKind::kBytes;
    }
    if (part.ends_with("_s") && !part.ends_with("_per_s")) {
      return ValueKind::kSeconds;
    }
    end = dot;
  }
  return ValueKind::kNumber;
}

bool is_report_name(const std::string& name) {
  const bool characters = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
  return characters && name.find('.') != std::string::npos && name.front() != '.' && name.back() != '.' &&
         name.find("..") == std::string::npos;
}

ReferenceValue read_reference_value(const Context& context, const TreeEntry& entry, const std::string& path) {
  if (!is_report_name(entry.key)) {
    fail(entry.position.location(), path,
         {"This is no name of a figure in the JSON report.", "", "a dotted name, for example step.efficiency"});
  }
  const SectionReader reader(context.schema.section("reference value"), entry.value, path);
  KeySpec value = *reader.section().find("value");
  value.kind = kind_of_name(entry.key);
  ReferenceValue result;
  result.name = entry.key;
  result.value = read_numeric(value, *reader.value("value"), path);
  result.tolerance = reader.number("tolerance");
  if (reader.has("expected_difference")) {
    result.expected_difference = reader.number("expected_difference");
    reader.require("reason");
  }
  result.reason = reader.text("reason");
  return result;
}

BatchLaw batch_law_of(const std::string& word) {
  return word == "layered_modular_2021" ? BatchLaw::kLayeredModular2021
         : word == "kaplan_2020"        ? BatchLaw::kKaplan2020
                                        : BatchLaw::kNone;
}

}  // namespace

Simulation read_simulation(const Context& context, const Tree* value, const Position& parent, const Tree* cost_model) {
  const SectionReader reader(context.schema.section("simulation"), value == nullptr ? mapping(parent) : *value,
                             "simulation");
  const Position& position = reader.tree().position;
  Simulation simulation;
  const bool own = cost_model == nullptr || reader.has("cost_model");
  simulation.cost_model = read_plugin(context.schema, kCostModelKind, own ? reader.value("cost_model") : cost_model,
                                      reader.section().find("cost_model")->default_value, position,
                                      reader.path("cost_model"), context.folder);
  const Tree* collectives = reader.value("collectives");
  const SectionReader how(context.schema.section("collectives"),
                          collectives == nullptr ? mapping(position) : *collectives, reader.path("collectives"));
  simulation.collective_algorithm = how.text("algorithm");
  simulation.collective_form = how.text("form") == "message" ? CollectiveForm::kMessage : CollectiveForm::kFluid;
  if (simulation.collective_form == CollectiveForm::kMessage &&
      (simulation.collective_algorithm == "automatic" || simulation.collective_algorithm == "nvls" ||
       simulation.collective_algorithm == "sharp")) {
    how.fail_at("form", {fmt::format("\"{}\" has no message form.", simulation.collective_algorithm), "message",
                         "fluid, or one of the algorithms ring, tree and hierarchical"});
  }
  simulation.communication_slowdown = reader.number("communication_slowdown");
  simulation.attention_scores = reader.boolean("attention_scores");
  simulation.fold = reader.boolean("fold");
  simulation.transport = reader.text("transport") == "no_contention" ? Transport::kNoContention : Transport::kSimgrid;
  simulation.enforce_memory = reader.boolean("enforce_memory");
  return simulation;
}

Training read_training(const Context& context, const Tree& value) {
  const SectionReader reader(context.schema.section("training"), value, "training");
  if (reader.has("steps") == reader.has("tokens")) {
    const bool twice = reader.has("steps");
    reader.fail_at(twice ? "tokens" : "steps", {twice ? "The length is given twice." : "The length is not given.", "",
                                                "exactly one of steps and tokens"});
  }
  Training training;
  training.steps = reader.has("steps") ? reader.number("steps") : 0;
  training.tokens = reader.has("tokens") ? reader.number("tokens") : 0;
  training.batch_law = batch_law_of(reader.text("batch_law"));
  return training;
}

Reference read_reference(const Context& context, const Tree& value) {
  const SectionReader reader(context.schema.section("reference"), value, "reference");
  Reference reference;
  reference.source = reader.text("source");
  const Tree& values = *reader.value("values");
  if (!values.is_mapping()) {
    reader.fail_at("values", {"The value has the wrong type.", describe(values),
                              "a mapping from names of the JSON report to published figures"});
  }
  for (const TreeEntry& entry : values.entries) {
    reference.values.push_back(
        read_reference_value(context, entry, fmt::format("{}.{}", reader.path("values"), entry.key.substr(0, 80))));
  }
  return reference;
}

}  // namespace lamina::scenario
