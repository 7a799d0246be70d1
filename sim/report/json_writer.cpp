#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sim/error/error.hpp"
#include "sim/report/json_values.hpp"
#include "sim/report/names.hpp"
#include "sim/report/report.hpp"

namespace lamina::report {

namespace {

Json by_category(const std::array<double, graph::kMemoryCategories>& values) {
  Json result = Json::object();
  for (const graph::MemoryCategory category : kMemoryOrder) {
    result[std::string(word_for(category))] = number(values[index_of(category)]);
  }
  return result;
}

void add_times(Json& into, const RoleTimes& times) {
  into["compute_s"] = number(times.compute_s);
  into["exposed_s"] = by_traffic(times.exposed_s);
  into["bubble_s"] = number(times.bubble_s);
  into["tail_s"] = number(times.tail_s);
  into["span_s"] = number(times.span_s);
}

void add_peak(Json& into, const Memory& memory) {
  into["peak_bytes"] = number(memory.peak_bytes);
  into["peak_time_s"] = number(memory.peak_time_s);
  into["peak_operation"] = memory.peak_operation;
  into["breakdown_bytes"] = by_category(memory.breakdown_bytes);
}

Json model_of(const scenario::Model& model) {
  return Json{{"name", model.name},
              {"layers", model.layers},
              {"hidden", model.hidden},
              {"sequence_length", model.sequence_length},
              {"heads", model.heads},
              {"key_value_heads", model.key_value_heads},
              {"feed_forward", model.feed_forward},
              {"gated_mlp", model.gated_mlp},
              {"vocabulary", model.vocabulary},
              {"custom", model.custom.has_value()}};
}

Json cluster_of(const Report& report, const scenario::Cluster& cluster) {
  return Json{{"devices", count(report.devices)},
              {"total_devices", count(report.cluster_devices)},
              {"nodes", cluster.nodes},
              {"node", cluster.node.name},
              {"accelerator", cluster.node.accelerator.name},
              {"device_link", cluster.node.device_link.name},
              {"host_path", cluster.node.host_path.name},
              {"network", cluster.network.name},
              {"topology", cluster.topology.name},
              {"fabric", report.topology}};
}

Json strategy_of(const Report& report, const scenario::Strategy& strategy) {
  Json placement = Json::array();
  for (const scenario::Dimension dimension : strategy.placement) {
    placement.push_back(word_for(dimension));
  }
  return Json{{"schedule", report.schedule},
              {"data_parallel", strategy.data_parallel},
              {"pipeline_parallel", strategy.pipeline_parallel},
              {"tensor_parallel", strategy.tensor_parallel},
              {"sequence_parallel", strategy.sequence_parallel},
              {"micro_batch_size", strategy.micro_batch_size},
              {"micro_batches", strategy.micro_batches},
              {"global_batch", strategy.global_batch()},
              {"sharding", word_for(strategy.sharding.level)},
              {"recompute", word_for(strategy.recompute)},
              {"fused_attention", strategy.fused_attention},
              {"update", word_for(strategy.update)},
              {"offload_state", strategy.offload.state},
              {"offload_checkpoints", strategy.offload.checkpoints},
              {"placement", std::move(placement)}};
}

Json models_of(const Report& report, const scenario::Simulation& simulation) {
  return Json{{"cost_model", report.cost_model},
              {"collectives", report.collectives},
              {"collective_form", word_for(simulation.collective_form)},
              {"transport", report.transport},
              {"communication_slowdown", number(simulation.communication_slowdown)},
              {"attention_scores", simulation.attention_scores}};
}

Json step_of(const Report& report) {
  Json result{{"time_s", number(report.step_s)},
              {"ideal_compute_s", number(report.ideal_compute_s)},
              {"efficiency", number(report.efficiency)},
              {"model_flop_utilisation", number(report.model_flop_utilisation)},
              {"hardware_flop_utilisation", number(report.hardware_flop_utilisation)},
              {"bubble_makespan_fraction", number(report.bubble_makespan_fraction)},
              {"bubble_span_fraction", number(report.bubble_span_fraction)},
              {"critical_role", report.critical_role}};
  add_times(result, report.critical_role_times);
  return result;
}

Json memory_of(const Report& report) {
  Json result{{"fits", report.fits},
              {"why_not", report.fits ? Json(nullptr) : Json(report.why_not)},
              {"capacity_bytes", number(report.memory_capacity_bytes)}};
  add_peak(result, report.memory);
  result["last_rank_peak_bytes"] = report.roles.empty() ? Json(nullptr) : number(report.roles.back().memory.peak_bytes);
  return result;
}

Json training_of(const Report& report) {
  if (!report.training) {
    return nullptr;
  }
  const Training& training = *report.training;
  const bool has_law = training.critical_batch_sequences > 0;
  return Json{{"steps", count(training.steps)},
              {"tokens", count(training.tokens)},
              {"days", number(training.days)},
              {"device_days", number(training.device_days)},
              {"critical_batch_sequences", has_law ? number(training.critical_batch_sequences) : Json(nullptr)},
              {"batch_law", has_law ? Json(training.batch_law) : Json(nullptr)}};
}

Json distribution_of(const Report& report) {
  if (!report.distribution) {
    return nullptr;
  }
  const StepDistribution& times = *report.distribution;
  return Json{{"repeats", times.repeats},     {"mean_s", number(times.mean_s)},   {"p50_s", number(times.p50_s)},
              {"p99_s", number(times.p99_s)}, {"least_s", number(times.least_s)}, {"most_s", number(times.most_s)}};
}

Json roles_of(const Report& report) {
  Json result = Json::array();
  for (const Role& role : report.roles) {
    Json entry{{"pipeline_rank", role.pipeline_rank}, {"devices", count(role.ranks)}, {"flops", number(role.flops)}};
    entry["peak_activations"] = number(role.peak_activations);
    entry["messages"] = role.messages;
    entry["message_bytes"] = number(role.message_bytes);
    entry["restores"] = role.restores;
    entry["restored_bytes"] = number(role.restored_bytes);
    entry["reductions"] = role.reductions;
    add_times(entry, role.times);
    entry["memory"] = Json::object();
    add_peak(entry["memory"], role.memory);
    result.push_back(std::move(entry));
  }
  return result;
}

Json links_of(const Report& report) {
  Json result = Json::array();
  for (const LinkLoad& load : report.links) {
    result.push_back(Json{{"class", word_for(load.link_class)},
                          {"links", count(load.links)},
                          {"bandwidth_bytes_per_s", number(load.bandwidth_bytes_per_s)},
                          {"busiest_bytes", number(load.bytes)},
                          {"busiest_average_bytes_per_s", number(load.average_bytes_per_s)},
                          {"busiest_peak_bytes_per_s", number(load.peak_bytes_per_s)}});
  }
  return result;
}

/// Puts `value` at a dotted name; a name that would pass through a number is left to `differences` alone.
void set_nested(Json& root, std::string_view name, Json value) {
  Json* at = &root;
  while (true) {
    const std::size_t dot = name.find('.');
    const std::string key(name.substr(0, dot));
    if (dot == std::string_view::npos) {
      if (!at->contains(key)) {
        (*at)[key] = std::move(value);
      }
      return;
    }
    Json& next = (*at)[key];
    if (next.is_null()) {
      next = Json::object();
    }
    if (!next.is_object()) {
      return;
    }
    at = &next;
    name.remove_prefix(dot + 1);
  }
}

Json reference_of(const Report& report, const scenario::Scenario& scenario) {
  if (!scenario.reference && report.reference.empty()) {
    return nullptr;
  }
  Json result{{"source", scenario.reference ? scenario.reference->source : ""}, {"differences", Json::array()}};
  for (const ReferenceRow& row : report.reference) {
    const scenario::ReferenceValue& reference = row.reference;
    result["differences"].push_back(Json{
        {"name", reference.name},
        {"value", number(reference.value)},
        {"measured", number(row.measured)},
        {"relative_difference", number(row.relative_difference)},
        {"tolerance", number(reference.tolerance)},
        {"agrees", row.agrees},
        {"expected_difference", reference.expected_difference ? number(*reference.expected_difference) : Json(nullptr)},
        {"reason", reference.reason.empty() ? Json(nullptr) : Json(reference.reason)}});
    set_nested(result, reference.name, number(reference.value));
  }
  return result;
}

}  // namespace

std::string to_json(const Report& report) {
  if (report.scenario == nullptr) {
    throw error::InternalError("report without a scenario");
  }
  const scenario::Scenario& scenario = *report.scenario;
  Json root;
  root["schema"] = "lamina.report/1";
  root["scenario"] = Json{{"name", scenario.name}, {"description", scenario.description}};
  root["model"] = model_of(scenario.model);
  root["cluster"] = cluster_of(report, scenario.cluster);
  root["strategy"] = strategy_of(report, scenario.strategy);
  root["models"] = models_of(report, scenario.simulation);
  root["step"] = step_of(report);
  root["throughput"] = Json{{"tokens_per_s", number(report.tokens_per_s)},
                            {"sequences_per_s", number(report.sequences_per_s)},
                            {"tokens_per_step", count(report.tokens_per_step)}};
  root["memory"] = memory_of(report);
  root["training"] = training_of(report);
  root["disturbances"] = report.disturbances;
  root["distribution"] = distribution_of(report);
  root["critical_path"] = Json{{"compute_s", number(report.critical_path.compute_s)},
                               {"traffic_s", by_traffic(report.critical_path.traffic_s)}};
  root["roles"] = roles_of(report);
  root["links"] = links_of(report);
  root["reference"] = reference_of(report, scenario);
  root["replay"] = Json{{"activities", report.activities},
                        {"simulated_ranks", report.simulated_ranks},
                        {"folded", report.folded},
                        {"communication_slowdown", report.scenario->simulation.communication_slowdown}};
  root["warnings"] = report.warnings;
  return document(root);
}

}  // namespace lamina::report
