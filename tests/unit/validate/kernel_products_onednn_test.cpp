#include <gtest/gtest.h>

#include "tests/unit/validate/product_checks.hpp"

namespace lamina::validate::cpu {
namespace {

TEST(OneDnnProducts, AreThoseOfTheDefinitionInFloat32) {
  expect_products_of_the_definition("onednn", false);
}

TEST(OneDnnProducts, AreThoseOfTheDefinitionInBf16) {
  expect_products_of_the_definition("onednn", true);
}

}  // namespace
}  // namespace lamina::validate::cpu
