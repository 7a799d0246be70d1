#include "validate/cpu/products.hpp"

#include <stdlib.h>

namespace lamina::validate::cpu {
namespace {

/// The libraries read their environment when they are loaded.
Plugin load(const std::string& name) {
  setenv("OMP_NUM_THREADS", "1", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  unsetenv("OPENBLAS_CORETYPE");  // the kernels of this processor, not of another one
  return Plugin(name);
}

}  // namespace

ProductLibrary::ProductLibrary(const std::string& name)
    : plugin_(load(name)), make_(plugin_.entry<MakeProducts>("lamina_make_products")) {}

}  // namespace lamina::validate::cpu
