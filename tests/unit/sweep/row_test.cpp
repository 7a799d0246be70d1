#include "sim/sweep/row.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/sweep/run.hpp"

namespace lamina::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Row row_of(std::int64_t point, double value) {
  Row row;
  row.point = point;
  row.transport = "simgrid";
  row.values.assign(figures().size(), value);
  return row;
}

const RowHead kHead = {{"strategy.tensor_parallel", "strategy.schedule", "cluster.network.bandwidth"},
                       {"8", "{name: interleaved, micro_batch_group_size: 8}", "400 Gbit/s"}};

TEST(Row, ReadsBackExactly) {
  for (const double value : {0.1, 1.0 / 3, 6.02214076e23, 5e-324, 1e22, 123456789.0, 0.0}) {
    const auto back = row_from_json(to_json_line(row_of(7, value), kHead));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->point, 7);
    EXPECT_EQ(back->values[0], value);
    EXPECT_EQ(to_csv_line(*back, kHead), to_csv_line(row_of(7, value), kHead));
  }
}

TEST(Row, WhatAReportDoesNotSayIsEmpty) {
  const Row row = row_of(0, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(to_json_line(row, kHead), HasSubstr("\"step_time_s\":null"));
  EXPECT_TRUE(std::isnan(row_from_json(to_json_line(row, kHead))->values[0]));
  EXPECT_THAT(to_csv_line(row, kHead), testing::EndsWith(",,,\n"));
}

TEST(Row, CsvQuotesMappingsAndKeepsUnits) {
  EXPECT_THAT(to_csv_line(row_of(3, 1), kHead),
              StartsWith("3,8,\"{name: interleaved, micro_batch_group_size: 8}\",400 Gbit/s,ok,,simgrid,1,"));
  EXPECT_THAT(csv_head(kHead.keys), StartsWith("point,strategy.tensor_parallel,strategy.schedule,"));
}

TEST(Row, AReasonTakesThePlaceOfFigures) {
  Row row;
  row.point = 1;
  row.status = Status::kInvalid;
  row.reason = "8, \"quoted\"";
  const auto back = row_from_json(to_json_line(row, kHead));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->status, Status::kInvalid);
  EXPECT_EQ(back->reason, row.reason);
  EXPECT_TRUE(back->values.empty());
  EXPECT_THAT(to_csv_line(row, kHead), HasSubstr(",invalid,\"8, \"\"quoted\"\"\",,"));
}

TEST(Row, OtherTextIsNone) {
  for (const char* text : {"", "{", "[]", "{}", "{\"point\":1}", "{\"point\":\"a\",\"status\":\"ok\"}",
                           "{\"point\":1,\"status\":\"fine\"}"}) {
    EXPECT_FALSE(row_from_json(text).has_value()) << text;
  }
}

TEST(Figures, HaveUniqueNames) {
  for (std::size_t i = 0; i < figures().size(); ++i) {
    EXPECT_EQ(figure_named(figures()[i].name), i);
  }
}

TEST(Ranked, PutsTheBestOkRowFirstAndEqualOnesByNumber) {
  std::vector<Row> rows = {row_of(0, 3), row_of(1, 1), row_of(2, 2), row_of(3, 1)};
  EXPECT_THAT(ranked(rows, *figure_named("step_time_s")), ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(ranked(rows, *figure_named("tokens_per_s")), ElementsAre(0, 2, 1, 3));
  rows[1].status = Status::kDoesNotFit;
  EXPECT_THAT(ranked(rows, *figure_named("step_time_s")), ElementsAre(3, 2, 0));
}

}  // namespace
}  // namespace lamina::sweep
