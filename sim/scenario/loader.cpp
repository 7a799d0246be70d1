#include "sim/scenario/loader.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "sim/scenario/catalogue.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/scenario/merge.hpp"
#include "sim/scenario/read_sweep.hpp"
#include "sim/scenario/reader.hpp"
#include "sim/scenario/resolve.hpp"
#include "sim/scenario/schema.hpp"
#include "sim/scenario/text_file.hpp"

namespace lamina::scenario {
namespace {

constexpr std::string_view kHardwareKey = "hardware";

/// The version comes first: in a file of another version no other message can be trusted.
void check_version(const Schema& schema, const Tree& root) {
  const Section& section = schema.section("scenario");
  const KeySpec& spec = *section.find("schema_version");
  const TreeEntry* entry = root.find(spec.name);
  if (entry == nullptr) {
    fail(root.position.location(), spec.name, {"The key \"schema_version\" is missing.", "", "schema_version: 1"});
  }
  KeySpec any_version = spec;
  any_version.minimum = -1e300;
  any_version.maximum = 1e300;
  if (read_numeric(any_version, entry->value, spec.name) != 1) {
    fail(entry->value.position.location(), spec.name,
         {"This version of the format is not supported by this version of Lamina.", describe(entry->value), "1"});
  }
}

Tree parse_text(std::string_view text, const std::string& file) {
  if (text.size() > kLargestFile) {
    fail({file, 0, 0}, "",
         {"The text is too large to be a scenario.", fmt::format("{} bytes", text.size()),
          fmt::format("at most {} bytes", kLargestFile)});
  }
  return parse_yaml(text, file);
}

Tree checked_root(const Schema& schema, Tree root, const std::vector<Override>& overrides) {
  if (!root.is_mapping()) {
    fail(root.position.location(), "",
         {"A scenario is a mapping from keys to values.", root.is_null() ? "an empty file" : describe(root),
          enumerate(schema.section("scenario").key_names())});
  }
  for (const Override& change : overrides) {
    set_key(schema, root, change.key, value_of(change));
  }
  check_version(schema, root);
  return root;
}

/// Everything but the work; `strategy` and `model` may be missing.
Scenario resolve_cluster(const Context& context, const SectionReader& reader, const std::filesystem::path& file) {
  Scenario scenario;
  scenario.file = file.string();
  scenario.name = reader.text_or("name", file.stem().string());
  scenario.description = reader.text("description");
  scenario.cluster = read_cluster(context, *reader.value("cluster"));
  const Tree accelerator = resolved_accelerator(context, *reader.value("cluster"));
  const TreeEntry* measured = accelerator.find("cost_model");
  scenario.simulation = read_simulation(context, reader.value("simulation"), reader.tree().position,
                                        measured == nullptr ? nullptr : &measured->value);
  if (const Tree* disturbances = reader.value("disturb")) {
    scenario.disturbances = read_disturbances(context, *disturbances, scenario.cluster);
  }
  return scenario;
}

Scenario resolve(const Context& context, const Tree& root, const std::filesystem::path& file) {
  const SectionReader reader(context.schema.section("scenario"), root, "");
  Model model = read_model(context, *reader.value("model"));
  Scenario scenario = resolve_cluster(context, reader, file);
  scenario.model = std::move(model);
  scenario.strategy = read_strategy(context, *reader.value("strategy"), scenario.model, scenario.cluster);
  if (scenario.model.custom && scenario.strategy.recompute != Recompute::kFull) {
    scenario.model.custom->recompute = Seconds(0);
  }
  if (const Tree* training = reader.value("training")) {
    scenario.training = read_training(context, *training);
  }
  if (const Tree* reference = reader.value("reference")) {
    scenario.reference = read_reference(context, *reference);
  }
  return scenario;
}

/// The files of `hardware:`, a path or a list of them.
void add_hardware(const Tree& root, const std::filesystem::path& folder, Catalogue& catalogue) {
  const TreeEntry* entry = root.find(kHardwareKey);
  if (entry == nullptr) {
    return;
  }
  const std::vector<Tree> names =
      entry->value.kind == Tree::Kind::kList ? entry->value.items : std::vector<Tree>{entry->value};
  for (const Tree& name : names) {
    if (!name.is_scalar()) {
      fail(name.position.location(), std::string(kHardwareKey),
           {name.is_null() ? "The key has no value." : "The value has the wrong type.", describe(name),
            "the path of a hardware file, or a list of paths"});
    }
    const bool from_command_line = name.position.line == 0;
    catalogue.add_hardware_file(from_command_line ? std::filesystem::path(name.text) : folder / name.text);
  }
}

/// Every scalar that names an ordinary file.
void add_named_files(const Tree& tree, const std::filesystem::path& folder, std::vector<std::filesystem::path>& files) {
  constexpr std::size_t kLongestName = 1000;
  if (tree.is_scalar() && !tree.text.empty() && tree.text.size() < kLongestName) {
    const std::filesystem::path file = tree.position.line == 0 ? std::filesystem::path(tree.text) : folder / tree.text;
    std::error_code status;
    if (std::filesystem::is_regular_file(file, status)) {
      files.push_back(file);
    }
  }
  for (const Tree& item : tree.items) {
    add_named_files(item, folder, files);
  }
  for (const TreeEntry& entry : tree.entries) {
    add_named_files(entry.value, folder, files);
  }
}

}  // namespace

struct Loader::Parts {
  Parts(Tree tree, std::filesystem::path scenario_file, const std::filesystem::path& catalogue_folder,
        const Plugins& plugins, const std::vector<Override>& overrides)
      : schema(plugins),
        file(std::move(scenario_file)),
        root(checked_root(schema, std::move(tree), overrides)),
        catalogue(catalogue_folder, schema) {
    add_hardware(root, file.parent_path(), catalogue);
    if (TreeEntry* entry = root.find("sweep")) {  // kept apart, so that no point copies it
      sweep = std::move(entry->value);
      root.erase("sweep");
    }
  }

  [[nodiscard]] Context context() const { return {schema, catalogue, file.parent_path()}; }

  [[nodiscard]] Tree changed(const std::vector<Change>& changes) const {
    Tree tree = root;
    for (const Change& change : changes) {
      if (change.key == kHardwareKey) {
        fail(change.value.position.location(), change.key,
             {"The hardware files are the same for all points; name them all, and vary what names their entries.", "",
              "for example cluster.network"});
      }
      set_key(schema, tree, change.key, change.value);
    }
    return tree;
  }

  Schema schema;
  std::filesystem::path file;
  Tree root;
  Catalogue catalogue;
  std::optional<Tree> sweep;
};

Loader::Loader(std::string_view text, const std::filesystem::path& file, const std::filesystem::path& catalogue,
               const Plugins& plugins, const std::vector<Override>& overrides)
    : Loader(parse_text(text, file.string()), file, catalogue, plugins, overrides) {}

Loader::Loader(Tree root, const std::filesystem::path& file, const std::filesystem::path& catalogue,
               const Plugins& plugins, const std::vector<Override>& overrides)
    : parts_(std::make_unique<Parts>(std::move(root), file, catalogue, plugins, overrides)) {}

Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;
Loader::~Loader() = default;

const std::filesystem::path& Loader::file() const {
  return parts_->file;
}

Scenario Loader::load(const std::vector<Change>& changes) const {
  return resolve(parts_->context(), changes.empty() ? parts_->root : parts_->changed(changes), parts_->file);
}

Scenario Loader::load_cluster() const {
  Section section = parts_->schema.section("scenario");
  for (KeySpec& key : section.keys) {
    key.required = key.required && key.name != "model" && key.name != "strategy";
  }
  return resolve_cluster(parts_->context(), SectionReader(section, parts_->root, ""), parts_->file);
}

SweepSpec Loader::sweep(const std::vector<Override>& axes, const std::vector<std::string>& filters) const {
  return read_sweep(parts_->context(), parts_->sweep ? &*parts_->sweep : nullptr, axes, filters);
}

std::map<std::string, double> Loader::sizes(const std::vector<Change>& changes) const {
  const Tree root = parts_->changed(changes);
  const SectionReader reader(parts_->schema.section("scenario"), root, "");
  const Model model = read_model(parts_->context(), *reader.value("model"));
  const Cluster cluster = read_cluster(parts_->context(), *reader.value("cluster"));
  return {{"layers", model.layers},
          {"hidden", static_cast<double>(model.hidden)},
          {"sequence_length", static_cast<double>(model.sequence_length)},
          {"heads", static_cast<double>(model.heads)},
          {"key_value_heads", static_cast<double>(model.key_value_heads)},
          {"head_size", static_cast<double>(model.head_size)},
          {"feed_forward", static_cast<double>(model.feed_forward)},
          {"vocabulary", static_cast<double>(model.vocabulary)},
          {"nodes", cluster.nodes},
          {"devices", cluster.devices()},
          {"devices_per_node", cluster.node.devices}};
}

std::map<std::string, double> Loader::strategy_sizes() const {
  std::map<std::string, double> result;
  const TreeEntry* strategy = parts_->root.find("strategy");
  const Section& section = parts_->schema.section("strategy");
  for (const char* name :
       {"data_parallel", "pipeline_parallel", "tensor_parallel", "micro_batch_size", "micro_batches", "global_batch"}) {
    const KeySpec& spec = *section.find(name);
    const TreeEntry* entry = strategy == nullptr ? nullptr : strategy->value.find(name);
    if (entry == nullptr && spec.default_value.empty()) {
      continue;
    }
    try {
      result[name] =
          read_numeric(spec, entry == nullptr ? scalar(spec.default_value, parts_->root.position) : entry->value, name);
    } catch (const error::ScenarioError&) {
      continue;  // a point may replace it; if none does, load() says what is wrong
    }
  }
  return result;
}

std::vector<std::filesystem::path> Loader::named_files(const SweepSpec& spec) const {
  std::vector<std::filesystem::path> files;
  const std::filesystem::path folder = parts_->file.parent_path();
  add_named_files(parts_->root, folder, files);
  for (const Factor& factor : spec.factors) {
    for (const auto& step : factor.steps) {
      for (const auto& setting : step) {
        if (setting) {
          add_named_files(setting->value, folder, files);
        }
      }
    }
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

Loader open_scenario(const std::filesystem::path& file, const std::filesystem::path& catalogue, const Plugins& plugins,
                     const std::vector<Override>& overrides) {
  return {read_text_file(file, kLargestFile), file, catalogue, plugins, overrides};
}

std::vector<Change> changes_of(const std::vector<Override>& overrides) {
  std::vector<Change> changes;
  for (const Override& change : overrides) {
    if (change.key != kHardwareKey) {
      changes.push_back({change.key, value_of(change)});
    }
  }
  return changes;
}

}  // namespace lamina::scenario
