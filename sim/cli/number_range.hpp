#pragma once

#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace lamina::cli {

/// Numbers from `least` to `most`. CLI::Range lets "nan" pass, which is neither below nor above anything.
[[nodiscard]] inline CLI::Validator number_range(double least, double most) {
  return {[least, most](const std::string& text) {
            double value = 0;
            const bool inside = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
            return inside ? std::string() : fmt::format("Value {} not in range {:g} to {:g}", text, least, most);
          },
          ""};
}

}  // namespace lamina::cli
