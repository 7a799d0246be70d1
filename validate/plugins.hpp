#pragma once

#include <string>

namespace lamina::validate {

/// Version of the interfaces between this program and its plug-ins (Products, the CUDA back end, the structures they
/// read): both come from one build.
inline constexpr int kPluginVersion = 2;

/// A shared object `lamina_<name>.so`, opened when its back end is asked for, so that nobody pays for, or needs, a
/// library that he does not use. Looked for in $LAMINA_PLUGINS, then in `../lib/lamina` beside the folder of the
/// program. It defines `extern "C" int lamina_plugin_version()` and its entry points. Never closed again: libraries
/// like CUDA's and OpenMP's do not survive that.
class Plugin {
 public:
  /// @throws EnvironmentError when it is not there, cannot be loaded (with the loader's reason), or has another version
  explicit Plugin(const std::string& name);

  /// @throws EnvironmentError when it has no such entry point
  template <class Function>
  [[nodiscard]] Function* entry(const char* symbol) const {
    return reinterpret_cast<Function*>(find(symbol));
  }

 private:
  [[nodiscard]] void* find(const char* symbol) const;

  std::string path_;
  void* handle_ = nullptr;
};

}  // namespace lamina::validate
