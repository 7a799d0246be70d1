#include "sim/scenario/schema_keys.hpp"

namespace lamina::scenario {
namespace {

Section scenario_section() {
  return {
      "scenario",
      "The file",
      "A scenario is one YAML document: a mapping with these keys.",
      "",
      {required(between(1, 1, key("schema_version", ValueKind::kInteger, "Version of this format; 1."))),
       with_default_text("the file's name without ending",
                         key("name", ValueKind::kText, "What reports call the scenario.")),
       with_default_text("empty", key("description", ValueKind::kText, "Free text.")),
       with_default_text("none",
                         key("hardware", ValueKind::kNameList,
                             "Files whose accelerators, links, networks and nodes can be named like those of the "
                             "catalogue: a path, or a list of paths, from this file's folder. `lamina calibrate` "
                             "writes such files ([calibration.md](calibration.md)).")),
       required(to("model", key("model", ValueKind::kReference, "What is trained."))),
       required(to("cluster", key("cluster", ValueKind::kSection, "On which machines."))),
       required(to("strategy", key("strategy", ValueKind::kSection, "How the work is laid out on them."))),
       with_default_text("all defaults",
                         to("simulation", key("simulation", ValueKind::kSection, "How it is simulated."))),
       with_default_text("none", items("disturb", {"slow_device", "slow_link", "failed_port", "host_delay", "jitter"},
                                       "disturb", "What is not as it should be in the cluster, one mapping each.")),
       with_default_text("no training time in the report",
                         to("training", key("training", ValueKind::kSection, "Length of the whole training."))),
       with_default_text("no comparison", to("reference", key("reference", ValueKind::kSection,
                                                              "Published figures, printed beside the simulated."))),
       with_default_text("nothing to sweep", to("sweep", key("sweep", ValueKind::kSection,
                                                             "What `lamina sweep` varies; other commands check it "
                                                             "only.")))}};
}

Section simulation_section() {
  return {
      "simulation",
      "simulation",
      "",
      "",
      {with_default("roofline", to(std::string(kCostModelKind),
                                   key("cost_model", ValueKind::kPlugin,
                                       "How long a kernel takes: the name of a cost model, or a mapping with `name` "
                                       "and its parameters. Where the accelerator has a `cost_model` (a calibrated "
                                       "one), that is the default."))),
       with_default("ring", to("collectives", key("collectives", ValueKind::kSection,
                                                  "How all-reduce, all-gather and the like are carried out."))),
       with_default("0", between(0, 0.99,
                                 key("communication_slowdown", ValueKind::kNumber,
                                     "Share of compute speed that is lost while a transfer touches the "
                                     "device: kernels run at (1 - x) of their speed."))),
       with_default("true", key("attention_scores", ValueKind::kBoolean,
                                "Count the FLOPs of the attention scores (QK^T and PV). The 2021 analysis of layered "
                                "accumulation leaves them out.")),
       with_default("true", key("fold", ValueKind::kBoolean,
                                "Simulate one rank per class of identical ranks. `false` simulates every rank.")),
       with_default(
           "simgrid",
           one_of({"simgrid", "no_contention"},
                  key("transport", ValueKind::kChoice,
                      "What moves the bytes. `simgrid`: transfers share links max-min fairly; `no_contention`: "
                      "every transfer takes the time it takes alone, for coarse searches (never slower)."))),
       with_default("true", key("enforce_memory", ValueKind::kBoolean,
                                "End with exit code 4 when the layout does not fit into memory. `false` reports "
                                "it and carries on, for comparisons."))}};
}

Section collectives_section() {
  return {"collectives",
          "simulation.collectives",
          "A bare name sets `algorithm`.",
          "algorithm",
          {with_default("ring", key("algorithm", ValueKind::kChoice, "Name of a collective algorithm.")),
           with_default("fluid", one_of({"fluid", "message"},
                                        key("form", ValueKind::kChoice,
                                            "`fluid`: one flow over the union of the links; `message`: every message "
                                            "apart, slower, to check the fluid form against.")))}};
}

Section training_section() {
  return {
      "training",
      "training",
      "Give either `steps` or `tokens`.",
      "",
      {with_default_text("exactly one of steps and tokens",
                         instead_of("tokens", positive(key("steps", ValueKind::kNumber, "Steps of the training.")))),
       with_default_text("exactly one of steps and tokens",
                         instead_of("steps", positive(key("tokens", ValueKind::kNumber,
                                                          "Tokens seen in the training, for example `300e9`.")))),
       with_default("none", one_of({"none", "layered_modular_2021", "kaplan_2020"},
                                   key("batch_law", ValueKind::kChoice,
                                       "Law of the critical batch size that is printed beside the scenario's own "
                                       "batch: arXiv 2106.02679 or arXiv 2001.08361.")))}};
}

Section reference_section() {
  return {
      "reference",
      "reference",
      "",
      "",
      {required(key("source", ValueKind::kText, "Where the figures were published.")),
       required(key("values", ValueKind::kValues,
                    "Names of the JSON report, for example `step.efficiency`, each with a value or with a mapping as "
                    "below. Times (`..._s`), bytes (`..._bytes`) and rates (`..._bytes_per_s`) carry a unit."))}};
}

Section reference_value_section() {
  return {
      "reference value",
      "reference.values.NAME",
      "A bare value sets `value`.",
      "value",
      {required(key("value", ValueKind::kText, "The published figure, with a unit where the name has a dimension.")),
       with_default("0.05", not_negative(key("tolerance", ValueKind::kNumber,
                                             "Relative difference that still counts as agreement."))),
       with_default_text("none", between(-10, 1e6,
                                         key("expected_difference", ValueKind::kNumber,
                                             "Relative difference that is known and explained."))),
       with_default_text("required with `expected_difference`",
                         key("reason", ValueKind::kText, "Why simulation and source differ."))}};
}

Section sweep_section() {
  return {
      "sweep",
      "sweep",
      "[sweep.md](sweep.md) has examples and the language of conditions.",
      "",
      {with_default_text("none",
                         key("axes", ValueKind::kValues,
                             "Keys of this file, each with a list of values, a range `{from, to, step}`, `{from, "
                             "to, factor}` or `{from, to, points, scale}`, or an expression `= ...`. All "
                             "combinations are tried; the first axis varies slowest.")),
       with_default_text("none",
                         key("zip", ValueKind::kNameList,
                             "Mappings like `axes` whose keys advance together: their lists are equally long.")),
       with_default_text("none", key("list", ValueKind::kNameList, "Points one by one: mappings from keys to values.")),
       with_default_text("every point",
                         key("where", ValueKind::kNameList,
                             "Conditions (one, or a list) that a point must meet to be in the table, for "
                             "example `tensor_parallel * pipeline_parallel <= 64`.")),
       with_default("100000", between(1, 10e6, key("limit", ValueKind::kInteger, "Most points that are accepted.")))}};
}

Section sweep_range_section() {
  return {
      "sweep range",
      "range of a sweep",
      "In place of a list. A step that meets `to` is included; quantities take their unit from `from`.",
      "",
      {required(key("from", ValueKind::kText, "First value.")), required(key("to", ValueKind::kText, "Last value.")),
       with_default_text("exactly one of step, factor and points",
                         key("step", ValueKind::kText, "What is added, with a unit where the key has one.")),
       with_default_text("exactly one of step, factor and points",
                         key("factor", ValueKind::kNumber, "By what each value is multiplied.")),
       with_default_text("exactly one of step, factor and points",
                         between(1, 100000,
                                 key("points", ValueKind::kInteger,
                                     "How many values, ends included. Whole numbers "
                                     "are rounded, and equal ones dropped."))),
       with_default("linear", one_of({"linear", "log"}, key("scale", ValueKind::kChoice, "How `points` lie.")))}};
}

}  // namespace

std::vector<Section> top_sections() {
  return {scenario_section(),  simulation_section(),      collectives_section(), training_section(),
          reference_section(), reference_value_section(), sweep_section(),       sweep_range_section()};
}

}  // namespace lamina::scenario
