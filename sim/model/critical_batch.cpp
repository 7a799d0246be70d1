#include <cmath>
#include <limits>

#include "sim/model/work.hpp"

namespace lamina::model {
namespace {

// GPT-3's batch of 3.2e6 tokens at 12 x 96 x 12288^2 parameters carried along p^(1/3): 3.2e6 / (1.739e11)^(1/3) =
// 573.25 (arXiv 2106.02679, section on the critical batch size; arXiv 2005.14165, table 2.1).
constexpr double kTokensPerCubeRoot = 573;

// Kaplan et al., arXiv 2001.08361: L(N) = (N_c / N)^alpha_N (eq. 1.1), B_crit = B* / L^(1 / alpha_B) (eq. 1.4).
constexpr double kKaplanParameters = 8.8e13;
constexpr double kKaplanParameterExponent = 0.076;
constexpr double kKaplanTokens = 2e8;
constexpr double kKaplanBatchExponent = 0.21;

}  // namespace

double critical_batch(scenario::BatchLaw law, double parameters, double sequence_length) {
  switch (law) {
    case scenario::BatchLaw::kLayeredModular2021:
      return kTokensPerCubeRoot * std::cbrt(parameters) / sequence_length;
    case scenario::BatchLaw::kKaplan2020: {
      const double loss = std::pow(kKaplanParameters / parameters, kKaplanParameterExponent);
      return kKaplanTokens / std::pow(loss, 1 / kKaplanBatchExponent) / sequence_length;
    }
    case scenario::BatchLaw::kNone:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace lamina::model
