#include "sim/report/step_check.hpp"

#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "sim/report/console_style.hpp"
#include "sim/report/json_values.hpp"
#include "sim/report/text.hpp"

namespace lamina::report {

std::string to_console(const StepCheck& check, bool colour) {
  Page page(colour);
  page.heading(
      printable(check.name),
      fmt::format("{}, {} ranks ({} replica{}), {} layers, {} micro-batches of a tiny decoder", check.schedule,
                  check.ranks, check.replicas, check.replicas == 1 ? "" : "s", check.layers, check.micro_batches));
  if (!check.transport.empty()) {
    page.line(page.paint(fmt::format("A process per rank, {}", check.transport), Tone::kFaint));
  }
  page.line();
  const std::vector<std::size_t> widths = {30, 12};
  page.line(page.paint(table_row({"", "error"}, widths), Tone::kFaint));
  const auto add = [&](const char* what, double error) {
    page.line(page.paint(table_row({fmt::format("  {}", what), fmt::format("{:.1e}", error)}, widths),
                         error <= kSameStep ? Tone::kPlain : Tone::kBad));
  };
  add("loss", check.loss_error);
  add("gradients", check.gradient_error);
  add("updated weights", check.weight_error);
  add("gradient norm", check.norm_error);
  add("equal copies on ranks", check.disagreement);
  page.line();
  if (!check.fault.empty()) {
    page.paragraph(fmt::format("An operation found its input missing: {}", printable(check.fault)), 2, 2, Tone::kBad);
  }
  const char* times = check.transport.empty() ? "orders of the operations" : "executions";
  page.paragraph(check.same() ? fmt::format("The step of one device, in {} {}.", check.orders, times)
                              : fmt::format("NOT the step of one device (at most {:.0e}).", kSameStep),
                 2, 2, check.same() ? Tone::kGood : Tone::kBad);
  return page.text();
}

std::string to_json(const StepCheck& check) {
  return document(Json{{"schema", "lamina.step_check/1"},
                       {"name", check.name},
                       {"file", std::filesystem::path(check.file).filename().string()},
                       {"schedule", check.schedule},
                       {"same", check.same()},
                       {"ranks", check.ranks},
                       {"replicas", check.replicas},
                       {"layers", check.layers},
                       {"micro_batches", check.micro_batches},
                       {"transport", check.transport.empty() ? Json(nullptr) : Json(check.transport)},
                       {"orders", check.orders},
                       {"loss", number(check.loss)},
                       {"errors",
                        {{"loss", number(check.loss_error)},
                         {"gradients", number(check.gradient_error)},
                         {"weights", number(check.weight_error)},
                         {"norm", number(check.norm_error)},
                         {"disagreement", number(check.disagreement)}}},
                       {"fault", check.fault.empty() ? Json(nullptr) : Json(check.fault)}});
}

}  // namespace lamina::report
