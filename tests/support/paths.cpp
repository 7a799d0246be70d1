#include "tests/support/paths.hpp"

namespace lamina::tests {

std::filesystem::path source_folder() {
  return LAMINA_SOURCE_DIR;
}

std::string command() {
  return LAMINA_COMMAND;
}

std::filesystem::path shared_folder() {
  return source_folder().parent_path() / "shared";
}

}  // namespace lamina::tests
