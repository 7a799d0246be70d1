#include "validate/calibration/calibrate.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/model/peak.hpp"
#include "sim/model/work.hpp"
#include "sim/scenario/fault.hpp"
#include "sim/scenario/loader.hpp"
#include "sim/trace/text.hpp"
#include "validate/calibration/matrix_fit.hpp"
#include "validate/calibration/nccl_log.hpp"
#include "validate/calibration/transfer_table.hpp"

namespace lamina::validate::calibration {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  return text;
}

std::vector<Label> labels_of(const TransferSet& set) {
  std::vector<Label> labels = {{"collective", name_of(set.collective)}};
  labels.insert(labels.end(), set.labels.begin(), set.labels.end());
  for (const auto& [key, count] : {std::pair("ranks", set.ranks), std::pair("nodes", set.nodes)}) {
    if (count > 0) {
      labels.push_back({key, fmt::format("{}", count)});
    }
  }
  return labels;
}

std::vector<Label> labels_of(const ProductSet& set) {
  std::vector<Label> labels;
  if (!set.device.empty()) {
    labels.push_back({"device", set.device});
  }
  if (set.type) {
    labels.push_back({"dtype", std::string(model::name_of(*set.type))});
  }
  labels.insert(labels.end(), set.labels.begin(), set.labels.end());
  return labels;
}

std::string text_of(const std::vector<Label>& labels) {
  std::string text;
  for (const Label& label : labels) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", label.key, label.text);
  }
  return text;
}

/// False only when a wanted key is there with another text.
bool fits(const std::vector<Label>& labels, const std::vector<Label>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const Label& want) {
    const auto found =
        std::find_if(labels.begin(), labels.end(), [&](const Label& label) { return label.key == want.key; });
    return found == labels.end() || lower(found->text) == lower(want.text);
  });
}

/// The sets that were asked for. `keys` collects the keys that there are.
template <class Set>
std::vector<Set> selected(std::vector<Set> sets, const std::vector<Label>& wanted, std::set<std::string>& keys) {
  std::vector<Set> chosen;
  std::string all;
  const std::string file = sets.front().file;
  for (Set& set : sets) {
    const std::vector<Label> labels = labels_of(set);
    for (const Label& label : labels) {
      keys.insert(label.key);
    }
    constexpr std::size_t kMostText = 600;
    all += all.size() > kMostText ? "" : fmt::format("{}{}", all.empty() ? "" : "; ", text_of(labels));
    if (fits(labels, wanted)) {
      chosen.push_back(std::move(set));
    }
  }
  if (chosen.empty()) {
    scenario::fail({file, 0, 0}, "",
                   {.problem = "The file has nothing of this selection.", .read = text_of(wanted), .allowed = all});
  }
  return chosen;
}

void check_keys(const std::vector<Label>& wanted, const std::set<std::string>& keys) {
  for (const Label& want : wanted) {
    if (!keys.contains(want.key)) {
      scenario::fail({"--select", 0, 0}, want.key,
                     {.problem = "No file distinguishes its rows by this key.",
                      .allowed = fmt::format("{}", fmt::join(keys, ", "))});
    }
  }
}

/// Ranks and nodes that the caller gives; "" when all is known, else what is missing.
std::string complete(TransferSet& set, const Options& options) {
  set.ranks = options.ranks > 0 ? options.ranks : set.ranks;
  set.nodes = options.nodes > 0 ? options.nodes : set.nodes;
  const bool rates_only = set.transfers.empty() && !set.rates.empty();
  if (set.transfers.empty() && set.rates.empty()) {
    return "there is no row with bytes and time";
  }
  if (set.ranks == 0 && !rates_only) {
    return "the file does not say how many ranks took part: --ranks";
  }
  if (set.ranks == 1) {
    return "one rank alone moves nothing; if there were more, the tests were built without MPI";
  }
  if (set.nodes == 0) {
    return "the file does not say on how many nodes: --nodes";
  }
  if (set.ranks > 0 && (set.nodes > set.ranks || set.ranks % set.nodes != 0)) {
    return fmt::format("{} ranks do not spread over {} nodes evenly: --ranks, --nodes", set.ranks, set.nodes);
  }
  return "";
}

scenario::Accelerator look_up(const std::string& yaml, const Surroundings& surroundings) {
  const std::string text = fmt::format(
      "schema_version: 1\ncluster:\n  node:\n    devices: 1\n    accelerator: {}\n    device_link: {{bandwidth: 1 "
      "GB/s, "
      "latency: 0 s}}\n    host_path: {{bandwidth: 1 GB/s, latency: 0 s}}\n    nics: 0\n    host_memory: 1 GiB\n",
      yaml);
  return scenario::Loader(text, "the accelerator of the calibration", surroundings.catalogue, surroundings.plugins)
      .load_cluster()
      .cluster.node.accelerator;
}

/// What a set's accelerator is based on; nothing when nobody knows.
std::optional<KnownAccelerator> accelerator_of(const ProductSet& set, const Options& options) {
  std::optional<KnownAccelerator> known;
  if (!options.accelerator.empty()) {
    known = KnownAccelerator{options.accelerator, {}, "chosen by --accelerator"};
  } else {
    known = known_accelerator(set.device);
  }
  if (known && !options.peak.empty()) {
    std::erase_if(known->changes, [](const Label& change) { return change.key == "peak"; });
    known->changes.push_back({"peak", fmt::format("{{{}: {}}}", model::name_of(*set.type), options.peak)});
    known->source += "; peak by --peak";
  }
  return known;
}

class Calibrator {
 public:
  Calibrator(const Options& options, const Surroundings& surroundings)
      : options_(options), surroundings_(surroundings) {
    result_.conditions = options.conditions;
    wanted_ = options.select;
  }

  void add_transfers(const std::filesystem::path& file);
  void add_products(const std::filesystem::path& file);
  [[nodiscard]] Calibration finish();

 private:
  /// An entry before it has its name.
  struct Unnamed {
    Entry entry;
    std::string stem;    ///< of the file
    std::string detail;  ///< what tells it from its file's others
  };

  void add(Entry entry, const std::filesystem::path& file, const std::vector<Label>& labels);
  void skip(const std::string& file, const std::vector<Label>& labels, const std::string& reason);
  void name_all();

  const Options& options_;
  const Surroundings& surroundings_;
  std::vector<Label> wanted_;
  std::set<std::string> keys_;
  std::vector<Unnamed> entries_;
  Calibration result_;
  std::string first_reason_;
  std::string first_file_;
  catalog::Catalog<model::CostModel> cost_models_ = model::cost_models();
};

void Calibrator::add_transfers(const std::filesystem::path& file) {
  const std::string text = trace::read_unpacked(file);
  const std::string name = file.filename().string();
  result_.sources.push_back(name);
  std::vector<TransferSet> sets = is_table(text) ? read_transfer_table(text, file.string(), options_.collective)
                                                 : read_nccl_log(text, file.string(), options_.collective);
  std::vector<Label> wanted = wanted_;
  if (options_.collective) {
    wanted.push_back({"collective", name_of(*options_.collective)});
  }
  for (TransferSet& set : selected(std::move(sets), wanted, keys_)) {
    const std::vector<Label> labels = labels_of(set);
    if (const std::string reason = complete(set, options_); !reason.empty()) {
      skip(file.string(), labels, reason);
      continue;
    }
    set.file = name;
    add(fit_link(set, options_.link), file, labels);
  }
}

void Calibrator::add_products(const std::filesystem::path& file) {
  const std::string text = trace::read_unpacked(file);
  const std::string name = file.filename().string();
  result_.sources.push_back(name);
  for (ProductSet& set : selected(read_product_table(text, file.string()), wanted_, keys_)) {
    const std::vector<Label> labels = labels_of(set);
    set.type = set.type ? set.type : options_.type;
    if (!set.type) {
      skip(file.string(), labels, "the file does not say the data type: --dtype");
      continue;
    }
    if (set.products.empty()) {
      skip(file.string(), labels, "there is no matrix product");
      continue;
    }
    const auto known = accelerator_of(set, options_);
    if (!known) {
      skip(file.string(), labels,
           set.device.empty()
               ? "the file does not say the accelerator: --accelerator"
               : "the catalogue has no such accelerator: --accelerator (and --peak) of one that it resembles");
      continue;
    }
    const scenario::Accelerator accelerator = look_up(as_yaml(*known), surroundings_);
    if (!accelerator.peak.contains(*set.type)) {
      skip(file.string(), labels, fmt::format("{} has no peak for {}: --peak", known->base, model::name_of(*set.type)));
      continue;
    }
    set.file = name;
    Entry entry = fit_products(set, accelerator, cost_models_);
    entry.settings.insert(entry.settings.begin(), {"base", known->base});
    entry.settings.insert(entry.settings.end(), known->changes.begin(), known->changes.end());
    entry.source += fmt::format(" {}: {}.", known->base, known->source);
    add(std::move(entry), file, labels);
  }
}

void Calibrator::add(Entry entry, const std::filesystem::path& file, const std::vector<Label>& labels) {
  std::string detail;
  for (const Label& label : labels) {
    detail += fmt::format("-{}", label.key == "ranks"   ? label.text + "-ranks"
                                 : label.key == "nodes" ? label.text + "-nodes"
                                                        : label.text);
  }
  entries_.push_back({std::move(entry), file.stem().string(), std::move(detail)});
}

void Calibrator::skip(const std::string& file, const std::vector<Label>& labels, const std::string& reason) {
  if (first_reason_.empty()) {
    first_reason_ = reason;
    first_file_ = file;
  }
  result_.skipped.push_back(fmt::format("{}: {}: {}", std::filesystem::path(file).filename().string(),
                                        labels.empty() ? "all rows" : text_of(labels), reason));
}

/// The file's name (or --name) where that is enough; with the system's labels where a kind has several.
void Calibrator::name_all() {
  std::map<std::pair<Kind, std::string>, int> several;
  const auto stem_of = [&](const Unnamed& unnamed) { return options_.name.empty() ? unnamed.stem : options_.name; };
  for (const Unnamed& unnamed : entries_) {
    ++several[{unnamed.entry.kind, stem_of(unnamed)}];
  }
  std::map<Kind, std::set<std::string>> taken;
  for (const scenario::CatalogueEntry& entry : scenario::list_catalogue(surroundings_.catalogue)) {
    for (const Kind kind : {Kind::kAccelerator, Kind::kDeviceLink, Kind::kHostPath, Kind::kNetwork}) {
      if (entry.kind + "s" == plural_of(kind)) {
        taken[kind].insert(entry.name);
      }
    }
  }
  for (Unnamed& unnamed : entries_) {
    const bool detailed = several[{unnamed.entry.kind, stem_of(unnamed)}] > 1;
    const std::string wish = as_name(stem_of(unnamed) + (detailed ? unnamed.detail : ""));
    std::string name = wish;
    if (!detailed && taken[unnamed.entry.kind].contains(name) && !options_.name.empty()) {
      scenario::fail(
          {"--name", 0, 0}, "",
          {.problem = fmt::format("The catalogue has an entry of this name in {}.", plural_of(unnamed.entry.kind)),
           .read = name,
           .allowed = "a name of its own"});
    }
    for (int number = 2; !taken[unnamed.entry.kind].insert(name).second; ++number) {
      name = fmt::format("{}-{}", wish, number);
    }
    unnamed.entry.name = name;
    result_.entries.push_back(std::move(unnamed.entry));
  }
}

Calibration Calibrator::finish() {
  check_keys(wanted_, keys_);
  if (entries_.empty()) {
    std::string sentence = first_reason_;
    sentence[0] = static_cast<char>(sentence[0] >= 'a' && sentence[0] <= 'z' ? sentence[0] - 'a' + 'A' : sentence[0]);
    scenario::fail({first_file_, 0, 0}, "", {.problem = sentence + "."});
  }
  name_all();
  std::stable_sort(result_.entries.begin(), result_.entries.end(),
                   [](const Entry& a, const Entry& b) { return a.kind < b.kind; });
  return std::move(result_);
}

}  // namespace

Calibration calibrate(const std::vector<std::filesystem::path>& transfer_files,
                      const std::vector<std::filesystem::path>& product_files, const Options& options,
                      const Surroundings& surroundings) {
  if (transfer_files.empty() && product_files.empty()) {
    throw error::InternalError("a calibration of no file");
  }
  Calibrator calibrator(options, surroundings);
  for (const std::filesystem::path& file : transfer_files) {
    calibrator.add_transfers(file);
  }
  for (const std::filesystem::path& file : product_files) {
    calibrator.add_products(file);
  }
  return calibrator.finish();
}

}  // namespace lamina::validate::calibration
