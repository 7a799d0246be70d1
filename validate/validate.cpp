#include "validate/validate.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include "sim/report/perfetto.hpp"
#include "validate/compare.hpp"
#include "validate/execute.hpp"
#include "validate/prepare.hpp"
#include "validate/virtual_backend.hpp"

namespace lamina::validate {

tl::expected<Validated, error::Infeasible> validate_virtual(const scenario::Scenario& scenario,
                                                                     const pipeline::Catalogs& catalogs, int repeats,
                                                            bool perfetto) {
  if (scenario.simulation.collective_form == scenario::CollectiveForm::kMessage) {
    return tl::unexpected(error::Infeasible{"Virtual devices run collectives in fluid form only."});
  }
  const auto executable = make_executable(scenario, catalogs, scenario::CollectiveForm::kFluid);
  if (!executable) {
    return tl::unexpected(executable.error());
  }
  const auto& [prepared, deployment, order, options] = *executable;
  const std::unique_ptr<Backend> backend = make_virtual_backend(prepared.graph, deployment);
  std::vector<Execution> executions;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    executions.push_back(execute(prepared.graph, deployment, order, *backend));
  }
  Timelines timelines;
  Validated validated{compare(prepared.graph, deployment, executions, options, &timelines), {}};
  report::Validation& result = validated.report;
  result.name = scenario.name;
  result.backend = "virtual";
  constexpr double kEqual = 1e-6;
  if (std::abs(result.error()) > kEqual) {
    result.warnings.emplace_back(
        scenario.simulation.communication_slowdown > 0
            ? "Virtual devices know neither contention nor communication_slowdown; the replay does."
            : "Virtual devices know no contention, the replay does: transfers of this layout meet on links.");
  }
  if (perfetto) {
    validated.perfetto =
        report::to_perfetto(prepared.graph, deployment, timelines.predicted, timelines.measured, scenario.name);
  }
  return validated;
}

}  // namespace lamina::validate
