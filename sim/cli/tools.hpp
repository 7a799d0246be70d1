#pragma once

#include <filesystem>

#include "sim/pipeline/simulate.hpp"
#include "sim/scenario/load.hpp"

namespace lamina::cli {

/// What a command needs to load scenarios and to replay them.
struct Tools {
  pipeline::Catalogs catalogs = pipeline::builtin_catalogs();
  scenario::Plugins plugins = pipeline::plugins_of(catalogs);
  std::filesystem::path catalogue = scenario::find_catalogue();
};

}  // namespace lamina::cli
