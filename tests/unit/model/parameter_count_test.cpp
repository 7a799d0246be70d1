#include "sim/model/parameter_count.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/unit/model/model_fixtures.hpp"

namespace lamina::model {
namespace {

double total_parameters(const scenario::Model& model) {
  return work_of(scenario_of(model)).parameters;
}

// Narayanan et al., arXiv 2104.04473, eq. 2: P = 12 l h^2 (1 + 13 / 12h + (V + s) / 12 l h), and table 1; the final
// norm (2 h) is not in the equation.
TEST(ParameterCount, OfAGptIsTheFormulaOfNarayananPlusTheFinalNorm) {
  const double h = 12288;
  const double formula = 12 * 96 * h * h * (1 + 13 / (12 * h) + (51200 + 2048) / (12 * 96 * h));
  EXPECT_NEAR(total_parameters(gpt3_175b()), formula + 2 * h, 1);
  EXPECT_NEAR(total_parameters(gpt3_175b()), 174.6e9, 0.05e9);
}

struct Table1Row {
  int layers;
  std::int64_t hidden;
  std::int64_t heads;
  double billions;
};

// Narayanan et al., table 1.
TEST(ParameterCount, OfTheTenMegatronModelsIsTheOneOfTable1) {
  const Table1Row rows[] = {{24, 2304, 24, 1.7},      {30, 3072, 32, 3.6},     {36, 4096, 32, 7.5},
                            {40, 6144, 48, 18.4},     {48, 8192, 64, 39.1},    {60, 10240, 80, 76.1},
                            {80, 12288, 96, 145.6},   {96, 16384, 128, 310.1}, {105, 20480, 128, 529.6},
                            {128, 25600, 160, 1008.0}};
  for (const Table1Row& row : rows) {
    const double billions = total_parameters(gpt(row.layers, row.hidden, row.heads)) / 1e9;
    EXPECT_NEAR(billions, row.billions, 0.051) << row.billions;
  }
}

// arXiv 2407.21783 and the model cards: 8.03, 70.6 and 405.9 billion.
TEST(ParameterCount, OfTheLlama3HerdIsThePublishedOne) {
  EXPECT_NEAR(total_parameters(llama3_8b()), 8.03e9, 0.005e9);
  EXPECT_NEAR(total_parameters(llama3(80, 8192, 64, 28672)), 70.6e9, 0.05e9);
  EXPECT_NEAR(total_parameters(llama3(126, 16384, 128, 53248)), 405.9e9, 0.05e9);
}

// arXiv 2106.02679: p = 12 x^5. Norms add 2 h to 12 h^2, one part in 6 x^2.
TEST(ParameterCount, OfTheXFamilyIsTwelveXToTheFifth) {
  for (const int x : {32, 64, 160}) {
    const double expected = 12 * std::pow(x, 5);
    EXPECT_NEAR(total_parameters(family_x(x)) / expected, 1, 0.001) << x;
    EXPECT_GT(total_parameters(family_x(x)), expected);
  }
}

TEST(ParameterCount, TensorRanksShareMatricesAndReplicateNorms) {
  const double h = 12288;
  const ParameterCount whole = parameters_of_model(gpt3_175b());
  for (const int ranks : {1, 2, 8, 16}) {
    const ParameterCount part = parameters_of_rank(gpt3_175b(), scenario_of(gpt3_175b(), 1, ranks).strategy);
    const double replicated = 4 * h + 2 * h;  // two norms with bias, biases of the two row-split matrices
    EXPECT_NEAR((part.layer - replicated) * ranks + replicated, whole.layer, 1e-3) << ranks;
    EXPECT_NEAR((part.embedding - 2048 * h) * ranks, 51200 * h, 1e-3) << ranks;
    EXPECT_EQ(part.head, 2 * h) << ranks;
  }
}

TEST(ParameterCount, KeyValueHeadsAreReplicatedWhenThereAreFewerThanRanks) {
  const ParameterCount part = parameters_of_rank(llama3_8b(), scenario_of(llama3_8b(), 1, 16).strategy);
  const double attention =
      4096.0 * (2 * 2 * 128 + 2 * 128);  // two query heads, their output, one key and one value head
  const double mlp = 3.0 * 4096 * 14336 / 16;
  EXPECT_EQ(part.layer, attention + mlp + 2 * 4096);
}

TEST(ParameterCount, ATiedHeadHoldsACopyOnlyWhenThePipelineSeparatesTheEnds) {
  scenario::Scenario scenario = scenario_of(gpt3_175b());
  EXPECT_EQ(work_of(scenario).head.parameters, 2 * 12288.0);
  const double model_parameters = work_of(scenario).parameters;
  scenario.strategy.pipeline_parallel = 8;
  EXPECT_EQ(work_of(scenario).head.parameters, 51200 * 12288.0 + 2 * 12288.0);
  EXPECT_EQ(work_of(scenario).parameters, model_parameters);
}

TEST(ParameterCount, AVocabularyThatDoesNotDivideIsRoundedUp) {
  scenario::Model model = gpt(2, 1024, 16, 50257);
  const ParameterCount part = parameters_of_rank(model, scenario_of(model, 1, 8).strategy);
  EXPECT_EQ(part.embedding, (6283 + 2048) * 1024.0);  // ceil(50257 / 8) = 6283
}

}  // namespace
}  // namespace lamina::model
