#include "validate/plugins.hpp"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "sim/error/error.hpp"

namespace lamina::validate {
namespace {

std::vector<std::filesystem::path> folders() {
  std::vector<std::filesystem::path> result;
  if (const char* own = std::getenv("LAMINA_PLUGINS"); own != nullptr && *own != '\0') {
    result.emplace_back(own);
  }
  std::error_code unknown;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (!unknown) {
    result.push_back(program.parent_path().parent_path() / "lib" / "lamina");
  }
  return result;
}

}  // namespace

Plugin::Plugin(const std::string& name) {
  const std::string file = fmt::format("lamina_{}.so", name);
  std::string looked;
  for (const std::filesystem::path& folder : folders()) {
    looked += fmt::format("{}{}", looked.empty() ? "" : ", ", folder.string());
    std::error_code fault;
    if (std::filesystem::exists(folder / file, fault)) {
      path_ = folder / file;
      break;
    }
  }
  if (path_.empty()) {
    throw error::EnvironmentError(fmt::format(
        "{} is not in {}: this build has no {} back end. Its library was missing when Lamina was configured, "
        "or the plug-in was not installed; $LAMINA_PLUGINS may name its folder.",
        file, looked, name));
  }
  handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    throw error::EnvironmentError(fmt::format("cannot load {}: {}", path_, dlerror()));
  }
  const int version = entry<int()>("lamina_plugin_version")();
  if (version != kPluginVersion) {
    throw error::EnvironmentError(
        fmt::format("{} is of another build: its version is {}, expected {}", path_, version, kPluginVersion));
  }
}

void* Plugin::find(const char* symbol) const {
  void* address = dlsym(handle_, symbol);
  if (address == nullptr) {
    throw error::EnvironmentError(fmt::format("{} is not a plug-in of this program: no {}", path_, symbol));
  }
  return address;
}

}  // namespace lamina::validate
