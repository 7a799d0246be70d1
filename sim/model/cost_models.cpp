#include "sim/model/cost_models.hpp"

namespace lamina::model {

catalog::Catalog<CostModel> cost_models() {
  catalog::Catalog<CostModel> result;
  register_calibrated(result);
  register_ideal(result);
  register_roofline(result);
  return result;
}

}  // namespace lamina::model
