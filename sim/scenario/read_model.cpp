#include <fmt/core.h>

#include "sim/scenario/hugging_face.hpp"
#include "sim/scenario/merge.hpp"
#include "sim/scenario/resolve.hpp"

namespace lamina::scenario {
namespace {

CustomModel read_custom(const Context& context, const Tree& value, const std::string& path) {
  const SectionReader reader(context.schema.section("custom"), value, path);
  CustomModel custom;
  custom.forward = reader.quantity<Seconds>("forward");
  custom.recompute = reader.has("recompute") ? reader.quantity<Seconds>("recompute") : custom.forward;
  custom.input_gradient = reader.quantity<Seconds>("input_gradient");
  custom.weight_gradient = reader.quantity<Seconds>("weight_gradient");
  custom.update = reader.quantity<Seconds>("update");
  custom.message = reader.quantity<Bytes>("message");
  custom.parameters = reader.quantity<Bytes>("parameters");
  custom.state = reader.quantity<Bytes>("state");
  custom.checkpoint = reader.quantity<Bytes>("checkpoint");
  custom.working_set = reader.quantity<Bytes>("working_set");
  custom.tensor_message = reader.quantity<Bytes>("tensor_message");
  custom.flops = reader.quantity<Flops>("flops");
  return custom;
}

/// Two of base, hugging_face and custom would contradict each other.
void check_origin(const Tree& value) {
  const char* first = nullptr;
  for (const char* origin : {"base", "hugging_face", "custom"}) {
    const TreeEntry* entry = value.find(origin);
    if (entry != nullptr && first != nullptr) {
      fail(entry->position.location(), std::string("model.") + origin,
           {fmt::format("A model has one origin, and there is \"{}\" already.", first), "",
            "one of base, hugging_face and custom"});
    }
    first = entry != nullptr ? origin : first;
  }
}

/// `hugging_face:` is a base that lies in a file of its own.
Tree with_hugging_face(const Context& context, Tree value) {
  const TreeEntry* entry = value.find("hugging_face");
  if (entry == nullptr) {
    return value;
  }
  const Section& section = context.schema.section("model");
  const std::string path = "model.hugging_face";
  const std::filesystem::path file = read_word(*section.find("hugging_face"), entry->value, path);
  Tree base;
  try {
    base = read_hugging_face(file.is_absolute() ? file : context.folder / file);
  } catch (const error::ScenarioError& problem) {
    error::ScenarioFault fault = problem.fault();
    fault.problem += fmt::format(" (needed by {})", path);
    throw error::ScenarioError(std::move(fault));
  }
  const Position position = value.position;
  value.erase("hugging_face");
  Tree whole = overlay(context.schema, section, std::move(base), value);
  whole.position = position;
  return whole;
}

void read_shape(const SectionReader& reader, Model& model) {
  for (const char* key : {"hidden", "sequence_length", "heads"}) {
    reader.require(key);
  }
  model.hidden = reader.large_integer("hidden");
  model.sequence_length = reader.large_integer("sequence_length");
  model.heads = reader.large_integer("heads");
  model.key_value_heads = reader.large_integer_or("key_value_heads", model.heads);
  if (model.heads % model.key_value_heads != 0) {
    reader.fail_at("key_value_heads",
                   {fmt::format("{} key and value heads do not divide {} heads.", model.key_value_heads, model.heads)});
  }
  if (!reader.has("head_size") && model.hidden % model.heads != 0) {
    reader.fail_at("heads", {fmt::format("{} heads do not divide the width {}.", model.heads, model.hidden), "",
                             "a divisor of hidden, or head_size beside it"});
  }
  model.head_size = reader.large_integer_or("head_size", model.hidden / model.heads);
  model.feed_forward = reader.large_integer_or("feed_forward", 4 * model.hidden);
}

/// A custom model has durations instead of shapes; shapes that are given all the same are kept for the report.
void read_custom_shape(const SectionReader& reader, Model& model) {
  model.hidden = reader.large_integer_or("hidden", 0);
  model.sequence_length = reader.large_integer_or("sequence_length", 1);
  model.heads = reader.large_integer_or("heads", 0);
  model.key_value_heads = reader.large_integer_or("key_value_heads", model.heads);
  model.head_size = reader.large_integer_or("head_size", 0);
  model.feed_forward = reader.large_integer_or("feed_forward", 0);
}

}  // namespace

Model read_model(const Context& context, const Tree& value) {
  const std::string path = "model";
  check_origin(value);
  const Tree whole = with_hugging_face(context, context.catalogue.resolve("model", value, path));
  const SectionReader reader(context.schema.section("model"), whole, path);
  Model model;
  if (const Tree* custom = reader.value("custom")) {
    model.custom = read_custom(context, *custom, reader.path("custom"));
  }
  reader.require("layers");
  model.name = reader.text_or("name", model.custom ? "custom" : "inline");
  model.source = reader.text_or("source", model.custom ? "measured by the user" : "");
  model.layers = reader.integer("layers");
  if (model.custom) {
    read_custom_shape(reader, model);
  } else {
    read_shape(reader, model);
  }
  model.gated_mlp = reader.boolean("gated_mlp");
  model.vocabulary = reader.large_integer("vocabulary");
  model.tied_embeddings = reader.boolean("tied_embeddings");
  model.learned_positions = reader.large_integer("learned_positions");
  model.biases = reader.boolean("biases");
  model.causal_half = reader.boolean("causal_half");
  return model;
}

}  // namespace lamina::scenario
