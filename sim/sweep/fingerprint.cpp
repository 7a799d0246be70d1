#include "sim/sweep/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lamina::sweep {
namespace {

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    value_ = (value_ ^ 0xff) * 0x100000001b3ULL;  // between texts; no byte of UTF-8
  }

  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

constexpr std::array<std::pair<const char*, const char*>, 5> kParts = {
    {{"version", "this program"},
     {"scenario", "the scenario (or --set)"},
     {"points", "the axes or conditions"},
     {"catalogue", "the catalogue of models and hardware"},
     {"how", "--refine or --sort-by"}}};

}  // namespace

std::string hash_of(const std::vector<std::string>& texts) {
  Hash hash;
  for (const std::string& text : texts) {
    hash.add(text);
  }
  return hash.text();
}

std::string hash_of_files(const std::vector<std::filesystem::path>& files) {
  Hash hash;
  for (const std::filesystem::path& file : files) {
    hash.add(file.filename().string());
    std::ifstream stream(file, std::ios::binary);
    hash.add(std::string(std::istreambuf_iterator<char>(stream), {}));
  }
  return hash.text();
}

std::string hash_of_catalogue(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const char* part : {"models", "hardware"}) {
    std::error_code status;
    for (const auto& entry : std::filesystem::directory_iterator(folder / part, status)) {
      if (entry.path().extension() == ".yaml") {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return hash_of_files(files);
}

std::string hash_of_points(const Grid& grid) {
  Hash hash;
  for (const std::string& key : grid.keys()) {
    hash.add(key);
  }
  for (std::int64_t index = 0; index < grid.size(); ++index) {
    const Point point = grid.point(index);
    for (const std::string& text : point.texts) {
      hash.add(text);
    }
    hash.add(point.infeasible);
  }
  return hash.text();
}

std::string journal_head(const Fingerprint& fingerprint) {
  const nlohmann::ordered_json head = {{"journal", "lamina.sweep/1"},        {"version", fingerprint.version},
                                       {"scenario", fingerprint.scenario},   {"points", fingerprint.points},
                                       {"catalogue", fingerprint.catalogue}, {"how", fingerprint.how}};
  return head.dump();
}

std::string difference(const std::string& head, const std::string& other_head) {
  const auto ours = nlohmann::json::parse(head, nullptr, false);
  const auto other = nlohmann::json::parse(other_head, nullptr, false);
  if (!ours.is_object() || !other.is_object()) {
    return "";
  }
  std::string text;
  for (const auto& [key, words] : kParts) {
    if (ours.value(key, "") != other.value(key, "")) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", words);
    }
  }
  return text;
}

}  // namespace lamina::sweep
