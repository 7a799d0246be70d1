#include "sim/chakra/fault.hpp"

#include <fmt/format.h>

#include "sim/error/error.hpp"
#include "sim/report/text.hpp"

namespace lamina::chakra {

void refuse_file(const std::string& file, const std::string& problem, const std::string& read,
                 const std::string& allowed) {
  error::ScenarioFault fault;
  fault.location.file = file;
  fault.problem = problem;
  fault.read = read;
  fault.allowed = allowed;
  throw error::ScenarioError(fault);
}

std::string node_words(std::uint64_t id, const std::string& name) {
  constexpr std::size_t kColumns = 60;
  return name.empty() ? fmt::format("node {}", id)
                      : fmt::format("node {} (\"{}\")", id, report::truncate(report::printable(name), kColumns));
}

}  // namespace lamina::chakra
