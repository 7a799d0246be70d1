#include "sim/error/error.hpp"
#include "sim/report/console_sections.hpp"
#include "sim/report/report.hpp"

namespace lamina::report {

std::string to_console(const Report& report, bool colour) {
  if (report.scenario == nullptr) {
    throw error::InternalError("report without a scenario");
  }
  Page page(colour);
  add_title(page, report);
  add_answer(page, report);
  add_disturbances(page, report);
  add_times(page, report);
  add_critical_path(page, report);
  add_network(page, report);
  add_memory(page, report);
  add_reference(page, report);
  add_warnings(page, report);
  add_models(page, report);
  return page.text();
}

}  // namespace lamina::report
