#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/scenario/scenario_fixture.hpp"

namespace lamina::scenario {
namespace {

using testing::HasSubstr;

Model model(const std::string& name) {
  return load("schema_version: 1\nmodel: " + name + "\ncluster: {node: dgx-h100}\nstrategy: {micro_batches: 1}\n")
      .model;
}

Cluster cluster(const std::string& node, const std::string& network) {
  return load("schema_version: 1\nmodel: x32\ncluster: {node: " + node + ", network: " + network +
              "}\nstrategy: {micro_batches: 1}\n")
      .cluster;
}

/// Matrices only: attention with grouped keys and values, MLP, embeddings. Norms and biases are below 0.1 %.
double parameters(const Model& model) {
  const double h = static_cast<double>(model.hidden);
  const double query = static_cast<double>(model.heads * model.head_size);
  const double key_value = static_cast<double>(model.key_value_heads * model.head_size);
  const double attention = 2 * h * query + 2 * h * key_value;
  const double mlp = (model.gated_mlp ? 3.0 : 2.0) * h * static_cast<double>(model.feed_forward);
  const double embeddings =
      static_cast<double>(model.vocabulary * (model.tied_embeddings ? 1 : 2) + model.learned_positions);
  return model.layers * (attention + mlp) + h * embeddings;
}

TEST(ModelCatalogue, ParametersAgreeWithTheNames) {
  // Published counts: arXiv 2005.14165 table 2.1, 2104.04473 table 1, 2307.09288, 2407.21783.
  const std::map<std::string, double> published = {
      {"gpt3-175b", 174.6e9},     {"megatron-1.7b", 1.7e9},   {"megatron-3.6b", 3.6e9}, {"megatron-7.5b", 7.5e9},
      {"megatron-18b", 18.4e9},   {"megatron-39b", 39.1e9},   {"megatron-76b", 76.1e9}, {"megatron-145b", 145.6e9},
      {"megatron-310b", 310.1e9}, {"megatron-530b", 529.6e9}, {"megatron-1t", 1008e9},  {"llama-2-70b", 69e9},
      {"llama-3-8b", 8.03e9},     {"llama-3-70b", 70.6e9},    {"llama-3-405b", 405.9e9}};
  for (const auto& [name, count] : published) {
    const double rounding = 0.05e9 / count;  // the names of small models have two digits
    EXPECT_NEAR(parameters(model(name)) / count, 1, std::max(0.02, rounding)) << name;
  }
}

TEST(ModelCatalogue, MegatronModelsFollowTheFormulaOfTheirPaper) {
  // arXiv 2104.04473, equation 2: P = 12 l h^2 (1 + 13 / (12 h) + (V + s) / (12 l h)).
  for (const char* name : {"megatron-1.7b", "megatron-39b", "megatron-530b", "megatron-1t"}) {
    const Model entry = model(name);
    const double l = entry.layers;
    const double h = static_cast<double>(entry.hidden);
    const double formula = 12 * l * h * h * (1 + (51200.0 + 2048.0) / (12 * l * h));
    EXPECT_NEAR(parameters(entry) / formula, 1, 1e-12) << name;
    EXPECT_EQ(entry.sequence_length, 2048);
  }
}

TEST(ModelCatalogue, TheFamilyOfThePaperIsThereForAnySize) {
  // arXiv 2106.02679: 12 x^5 parameters, sequences of 16 x.
  for (const int x : {1, 2, 3, 32, 33, 64, 108, 160, 232, 400, 1000}) {
    const Model entry = model("x" + std::to_string(x));
    EXPECT_EQ(entry.name, "x" + std::to_string(x));
    EXPECT_EQ(entry.layers, x);
    EXPECT_EQ(entry.hidden, std::int64_t{x} * x);
    EXPECT_EQ(entry.sequence_length, 16 * x);
    EXPECT_EQ(entry.heads * entry.head_size, entry.hidden);
    EXPECT_EQ(entry.vocabulary, 0);
    EXPECT_NEAR(parameters(entry) / (12 * std::pow(x, 5)), 1, 1e-12) << x;
    EXPECT_THAT(entry.source, HasSubstr("2106.02679"));
  }
  EXPECT_NEAR(parameters(model("x160")), 1.258e12, 1e9);
  EXPECT_EQ(model("x64").heads, 32);
  EXPECT_EQ(model("x64").head_size, 128);
}

TEST(ModelCatalogue, NamesThatAreNoMembersOfTheFamilyAreRefused) {
  for (const char* name : {"x0", "x01", "x", "x1001", "x-1", "x1.5", "x160b", "y160"}) {
    EXPECT_THAT(fault_of(with_line(2, "model: " + std::string(name))).problem, HasSubstr("no model of this name"))
        << name;
  }
}

TEST(ModelCatalogue, EntriesCanBeChanged) {
  const Model longer = model("{base: llama-3-8b, sequence_length: 131072}");
  EXPECT_EQ(longer.sequence_length, 131072);
  EXPECT_EQ(longer.layers, 32);
  EXPECT_EQ(longer.name, "llama-3-8b (changed)");
  EXPECT_THAT(longer.source, HasSubstr("changed in the scenario: sequence_length"));
  EXPECT_EQ(model("{base: x160, layers: 10}").layers, 10);
  EXPECT_EQ(model("{base: x160, name: mine, layers: 10}").name, "mine");
}

TEST(ModelCatalogue, LlamasAreGroupedGatedAndWithoutBiases) {
  for (const char* name : {"llama-2-70b", "llama-3-8b", "llama-3-70b", "llama-3-405b"}) {
    const Model entry = model(name);
    EXPECT_EQ(entry.key_value_heads, 8) << name;
    EXPECT_TRUE(entry.gated_mlp && !entry.biases && !entry.tied_embeddings) << name;
    EXPECT_EQ(entry.learned_positions, 0) << name;
  }
}

TEST(HardwareCatalogue, AcceleratorsHaveTheConstantsOfTheirDataSheets) {
  struct Expected {
    const char* node;
    double bf16_or_fp16, memory_gib, bandwidth;
    int multiprocessors;
  };

  for (const auto& [node, peak, memory, bandwidth, multiprocessors] :
       {Expected{"dgx-1", 125e12, 32, 900e9, 80}, Expected{"dgx-a100-40gb", 312e12, 40, 1555e9, 108},
        Expected{"dgx-a100-80gb", 312e12, 80, 2039e9, 108}, Expected{"dgx-h100", 989.5e12, 80, 3.35e12, 132},
        Expected{"dgx-h200", 989.5e12, 141, 4.8e12, 132}, Expected{"dgx-b200", 2250e12, 180, 8e12, 148}}) {
    const Accelerator accelerator = cluster(node, "infiniband-hdr").node.accelerator;
    EXPECT_EQ(accelerator.peak.at(DataType::kFp16).value(), peak) << node;
    EXPECT_EQ(accelerator.memory.value(), memory * 1073741824) << node;
    EXPECT_EQ(accelerator.memory_bandwidth.value(), bandwidth) << node;
    EXPECT_EQ(accelerator.multiprocessors, multiprocessors) << node;
    EXPECT_EQ(accelerator.peak.contains(DataType::kBf16), std::string(node) != "dgx-1");
  }
  EXPECT_EQ(cluster("dgx-b200", "infiniband-ndr").node.accelerator.peak.at(DataType::kFp8).value(), 4500e12);
}

TEST(HardwareCatalogue, ThePapersNodeHasThePapersConstants) {
  // arXiv 2106.02679, hardware constants: NVLink 600 GB/s and PCIe 63 GB/s in and out together, InfiniBand 200 Gbit/s
  // per device, Ethernet 25 Gbit/s per device.
  const Cluster paper = cluster("hgx-a100-16", "infiniband-hdr");
  EXPECT_EQ(paper.node.devices, 16);
  EXPECT_EQ(paper.node.nics, 16);
  EXPECT_EQ(paper.node.device_link_domain, 16);
  EXPECT_EQ(paper.node.device_link.bandwidth.value(), 300e9);
  EXPECT_EQ(paper.node.host_path.bandwidth.value(), 31.5e9);
  EXPECT_EQ(paper.node.host_path.shared_by, 2);
  EXPECT_EQ(paper.network.bandwidth.value(), 25e9);
  EXPECT_EQ(cluster("hgx-a100-16", "ethernet-25-ideal").network.bandwidth.value(), 3.125e9);
}

TEST(HardwareCatalogue, IdealNetworksHaveNeitherLatencyNorLoss) {
  for (const char* name :
       {"infiniband-edr-ideal", "infiniband-hdr-ideal", "infiniband-ndr-ideal", "ethernet-25-ideal"}) {
    const Network network = cluster("dgx-h100", name).network;
    EXPECT_EQ(network.efficiency, 1) << name;
    EXPECT_EQ(network.port_latency.value() + network.switch_latency.value(), 0) << name;
    EXPECT_EQ(network.name, name);
  }
}

TEST(HardwareCatalogue, NamesOfNetworksTellTheirRate) {
  for (const int rate : {25, 100, 200, 400}) {
    const Network network = cluster("dgx-h100", "ethernet-" + std::to_string(rate) + "-roce").network;
    EXPECT_EQ(network.bandwidth.value(), rate * 1e9 / 8);
    EXPECT_GT(network.efficiency, 0.9);
  }
  for (const int rate : {10, 25, 100}) {
    EXPECT_EQ(cluster("dgx-h100", "ethernet-" + std::to_string(rate) + "-tcp").network.bandwidth.value(),
              rate * 1e9 / 8);
  }
}

TEST(Catalogue, EveryEntryLoadsAndHasASummaryAndASource) {
  const std::vector<CatalogueEntry> entries = list_catalogue(source_catalogue());
  std::map<std::string, int> seen;
  for (const CatalogueEntry& entry : entries) {
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    EXPECT_FALSE(entry.source.empty()) << entry.name;
    ++seen[entry.kind];
    if (entry.kind == "model") {
      EXPECT_GT(model(entry.name == "x<N>" ? "x8" : entry.name).layers, 0) << entry.name;
    } else if (entry.kind == "node") {
      EXPECT_GT(cluster(entry.name, "infiniband-hdr").devices(), 0) << entry.name;
    } else if (entry.kind == "network") {
      EXPECT_EQ(cluster("dgx-h100", entry.name).network.name, entry.name);
    } else {
      const Node node = cluster("{base: dgx-h100, " + entry.kind + ": " + entry.name + "}", "infiniband-hdr").node;
      EXPECT_TRUE(node.accelerator.name == entry.name || node.device_link.name == entry.name ||
                  node.host_path.name == entry.name);
    }
  }
  EXPECT_EQ(seen["model"], 16);
  EXPECT_GE(seen["accelerator"], 14);
  EXPECT_GE(seen["node"], 13);
  EXPECT_GE(seen["device_link"], 10);
  EXPECT_EQ(seen["host_path"], 7);
  EXPECT_GE(seen["network"], 10);
  EXPECT_TRUE(std::is_sorted(entries.begin(), entries.end(), [](const CatalogueEntry& a, const CatalogueEntry& b) {
    return std::pair(a.kind, a.name) < std::pair(b.kind, b.name);
  }));
}

/// A catalogue folder with one file of its own.
class OwnCatalogue {
 public:
  explicit OwnCatalogue(const std::string& hardware) : file_("hardware.yaml", "") {
    std::filesystem::create_directories(file_.folder() / "models");
    std::filesystem::create_directories(file_.folder() / "hardware");
    std::ofstream(file_.folder() / "hardware" / "mine.yaml") << hardware;
  }

  [[nodiscard]] error::ScenarioFault fault() const {
    return fault_when([&] {
      static_cast<void>(load_text("schema_version: 1\nmodel: x8\ncluster: {node: a}\nstrategy: {micro_batches: 1}\n",
                                  "t.yaml", file_.folder(), test_plugins()));
    });
  }

  [[nodiscard]] const std::filesystem::path& folder() const { return file_.folder(); }

 private:
  TemporaryFile file_;
};

TEST(Catalogue, ErrorsInItNameItsFile) {
  const OwnCatalogue circle("nodes:\n  a: {base: b}\n  b: {base: a}\n");
  EXPECT_THAT(circle.fault().problem, HasSubstr("in a circle"));
  const OwnCatalogue unknown("nodes:\n  a:\n    devicez: 3\n");
  EXPECT_THAT(unknown.fault().location.file, HasSubstr("mine.yaml"));
  EXPECT_EQ(unknown.fault().location.line, 3);
  EXPECT_EQ(unknown.fault().nearest, "devices");
  const OwnCatalogue group("node:\n  a: {}\n");
  EXPECT_EQ(group.fault().nearest, "nodes");
  const OwnCatalogue scalar("nodes:\n  a: 3\n");
  EXPECT_THAT(scalar.fault().problem, HasSubstr("entry is a mapping"));
  const OwnCatalogue syntax("nodes: [\n");
  EXPECT_THAT(syntax.fault().problem, HasSubstr("not valid YAML"));
}

TEST(Catalogue, OneNameStandsForOneThing) {
  const OwnCatalogue twice("nodes:\n  a: {}\n");
  std::ofstream(twice.folder() / "hardware" / "other.yaml") << "nodes:\n  a: {}\n";
  EXPECT_THAT(twice.fault().problem, HasSubstr("two entries of this name"));
}

TEST(Catalogue, AMissingFolderIsAnEnvironmentError) {
  EXPECT_THROW(static_cast<void>(list_catalogue("/no/such/folder")), error::EnvironmentError);
}

TEST(Catalogue, IsFoundByTheEnvironmentVariableFirst) {
  const OwnCatalogue own("nodes: {}\n");
  setenv("LAMINA_CATALOGUE", own.folder().c_str(), 1);
  EXPECT_EQ(find_catalogue(), own.folder());
  setenv("LAMINA_CATALOGUE", "/no/such/folder", 1);
  EXPECT_THROW(static_cast<void>(find_catalogue()), error::EnvironmentError);
  unsetenv("LAMINA_CATALOGUE");
  EXPECT_TRUE(std::filesystem::is_directory(find_catalogue() / "models"));
}

}  // namespace
}  // namespace lamina::scenario
