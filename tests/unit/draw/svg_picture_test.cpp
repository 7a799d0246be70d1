#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/draw/svg.hpp"
#include "sim/draw/unit_cells.hpp"
#include "tests/support/paths.hpp"
#include "tests/unit/draw/chart_fixtures.hpp"
#include "tests/unit/draw/svg_reader.hpp"

namespace lamina::draw {
namespace {

using testing::Element;
using testing::ranks_for;
using testing::read_xml;
using testing::table_of;

bool is_number(const Element& element) {
  return element.name == "text" && element.has("pointer-events");
}

std::vector<Element> numbers_of(const std::vector<Element>& elements) {
  std::vector<Element> numbers;
  std::copy_if(elements.begin(), elements.end(), std::back_inserter(numbers), is_number);
  return numbers;
}

/// Cells are the rectangles with a tip; their <title> follows them.
std::vector<Element> cells_of(const std::vector<Element>& elements) {
  std::vector<Element> cells;
  for (std::size_t i = 1; i < elements.size(); ++i) {
    if (elements[i].name == "title" && elements[i - 1].name == "rect") {
      cells.push_back(elements[i - 1]);
    }
  }
  return cells;
}

/// Estimated as wide as DejaVu Sans prints digits, the widest of the fonts that the picture names: 0.636 em.
double width_of(const Element& number) {
  return 0.636 * number.number("font-size") * static_cast<double>(number.text.size());
}

void expect_on_canvas(const std::vector<Element>& elements) {
  const double width = elements.front().number("width");
  const double height = elements.front().number("height");
  for (const Element& element : elements) {
    if (element.name == "rect") {
      EXPECT_GE(element.number("x"), 0);
      EXPECT_GE(element.number("y"), 0);
      EXPECT_LE(element.number("x") + element.number("width"), width + 0.01);
      EXPECT_LE(element.number("y") + element.number("height"), height + 0.01);
      EXPECT_GT(element.number("height"), 0);
    } else if (element.name == "text") {
      EXPECT_GT(element.number("x"), 0);
      EXPECT_LE(element.number("y"), height);
    }
  }
}

/// Every number lies within one cell, in its middle.
void expect_numbers_fit(const std::vector<Element>& elements) {
  const std::vector<Element> cells = cells_of(elements);
  for (const Element& number : numbers_of(elements)) {
    const double x = number.number("x");
    const double size = number.number("font-size");
    const bool inside = std::any_of(cells.begin(), cells.end(), [&](const Element& cell) {
      const double left = cell.number("x");
      const double top = cell.number("y");
      const double baseline = number.number("y");
      return std::abs(left + cell.number("width") / 2 - x) < 0.02 && width_of(number) <= cell.number("width") &&
             baseline <= top + cell.number("height") && baseline - 0.73 * size >= top - 0.02;
    });
    EXPECT_TRUE(inside) << number.text << " at " << x;
    EXPECT_GE(size, kSmallestNumber);
  }
}

class Picture : public ::testing::TestWithParam<std::string> {};

TEST_P(Picture, OfFourRanksShowsEveryNumberInItsCell) {
  const Chart chart = unit_cells(table_of(GetParam(), ranks_for(GetParam(), 4), 8, 16));
  const std::string svg = to_svg({chart});
  const std::vector<Element> elements = read_xml(svg);
  EXPECT_EQ(numbers_of(elements).size(), boxes_of(chart));
  EXPECT_EQ(cells_of(elements).size(), boxes_of(chart));
  expect_on_canvas(elements);
  expect_numbers_fit(elements);
  EXPECT_EQ(svg, to_svg({chart}));
}

TEST_P(Picture, OfSixteenRanksShowsNumbersWhereTheyFit) {
  const Chart chart = unit_cells(table_of(GetParam(), ranks_for(GetParam(), 16), 64, 64));
  const std::vector<Element> elements = read_xml(to_svg({chart}));
  EXPECT_EQ(cells_of(elements).size(), boxes_of(chart));
  EXPECT_LE(elements.front().number("width"), 4000);
  if (chart.shades <= 2) {
    EXPECT_EQ(numbers_of(elements).size(), boxes_of(chart));
  } else {
    EXPECT_FALSE(numbers_of(elements).empty());  // at least those of one digit in the longer cells
  }
  expect_on_canvas(elements);
}

TEST_P(Picture, KeepsTheCellsOfALaneApart) {
  for (const int micro_batches : {8, 12, 16}) {
    const Chart chart = unit_cells(table_of(GetParam(), ranks_for(GetParam(), 4), micro_batches, 16));
    for (const Row& row : chart.rows) {
      EXPECT_TRUE(testing::are_apart(row.lanes.front())) << row.label;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, Picture, ::testing::ValuesIn(testing::schedule_names()),
                         [](const auto& schedule) { return schedule.param; });

TEST(Picture, IsWideEnoughForAllNumbersOfASixteenBySixtyFourPipeline) {
  const Chart chart = unit_cells(table_of("one_forward_one_backward", 16, 64, 16));
  const std::vector<Element> elements = read_xml(to_svg({chart}));
  EXPECT_EQ(numbers_of(elements).size(), boxes_of(chart));
  expect_numbers_fit(elements);
}

TEST(Picture, LeavesNumbersOutRatherThanOverlappingThem) {
  const Chart chart = unit_cells(table_of("one_forward_one_backward", 8, 64, 8));
  const std::vector<Element> elements = read_xml(to_svg({chart}, {.width = 400}));
  EXPECT_EQ(elements.front().attributes.at("width"), "400");
  EXPECT_TRUE(numbers_of(elements).empty());
  EXPECT_EQ(cells_of(elements).size(), boxes_of(chart));
  expect_on_canvas(elements);
}

TEST(Picture, EscapesWhateverNamesHold) {
  Chart chart = unit_cells(table_of("gpipe", 2, 2, 2));
  chart.title = "<script>alert(\"x\")</script> & \x1b[31m \xff \xEF\xBF\xBF ]]>";
  chart.facts = {"</svg>", "a & b"};
  chart.rows.front().label = "<rank>";
  const std::string svg = to_svg({chart});
  EXPECT_THAT(svg, ::testing::Not(::testing::HasSubstr("<script")));
  const std::vector<Element> elements = read_xml(svg);  // throws at markup that is not escaped
  const auto shows = [&elements](const std::string& text) {
    return std::any_of(elements.begin(), elements.end(),
                       [&text](const Element& e) { return e.text.find(text) != std::string::npos; });
  };
  EXPECT_TRUE(shows("<script>alert(\"x\")</script> &"));
  EXPECT_TRUE(shows("</svg>, a & b"));
  EXPECT_TRUE(shows("<rank>"));
}

TEST(Picture, ShortensATitleThatIsTooLong) {
  Chart chart = unit_cells(table_of("gpipe", 2, 2, 2));
  chart.title = std::string(5000, 'W');
  const std::vector<Element> elements = read_xml(to_svg({chart}));
  const auto title = std::find_if(elements.begin(), elements.end(),
                                  [](const Element& e) { return e.name == "text" && e.has("font-weight"); });
  ASSERT_NE(title, elements.end());
  EXPECT_LT(0.9 * title->number("font-size") * static_cast<double>(title->text.size()),
            elements.front().number("width"));
  EXPECT_THAT(title->text, ::testing::EndsWith("…"));
}

TEST(Picture, PutsChartsOfOneUnitOnOneScale) {
  const Chart longer = unit_cells(table_of("gpipe", 4, 8, 4));              // 33 units
  const Chart shorter = unit_cells(table_of("layered_modular", 4, 8, 16));  // 26.25 units
  const std::vector<Element> elements = read_xml(to_svg({longer, shorter}));
  const std::vector<Element> cells = cells_of(elements);
  const double gpipe = cells.front().number("width");              // a forward, 1 unit
  const double layered = cells[boxes_of(longer)].number("width");  // a quarter of it
  EXPECT_NEAR(layered, gpipe / 4, 0.01);
  EXPECT_GT(cells.back().number("y"), cells.front().number("y") + 4 * cells.front().number("height"));
}

TEST(Picture, NamesEveryKindThatOccursAndNoOther) {
  const std::string plain = to_svg({unit_cells(table_of("gpipe", 4, 8, 4))});
  EXPECT_THAT(plain, ::testing::HasSubstr(">backward</text>"));
  EXPECT_THAT(plain, ::testing::Not(::testing::HasSubstr(">weight gradient</text>")));
  EXPECT_THAT(plain, ::testing::Not(::testing::HasSubstr("light to dark")));
  const std::string split = to_svg({unit_cells(table_of("dual_pipe_v", 4, 8, 8))});
  EXPECT_THAT(split, ::testing::HasSubstr(">weight gradient</text>"));
  EXPECT_THAT(split, ::testing::HasSubstr("fused pair"));
  EXPECT_THAT(split, ::testing::HasSubstr("light to dark"));
}

TEST(Picture, NeedsNothingThatSimpleRenderersLack) {
  Chart chart = unit_cells(table_of("dual_pipe_v", 4, 8, 8));
  chart.rows.front().lanes.front().boxes.front().kind = Kind::kRecompute;
  for (const Element& element : read_xml(to_svg({chart}))) {
    EXPECT_THAT(element.name, ::testing::AnyOf("svg", "title", "g", "rect", "path", "text"));
    EXPECT_FALSE(element.has("style"));
    EXPECT_FALSE(element.has("class"));
    EXPECT_FALSE(element.has("dominant-baseline"));
  }
}

TEST(Picture, OfNothingIsStillAPicture) {
  EXPECT_NO_THROW((void)read_xml(to_svg({})));
  EXPECT_NO_THROW((void)read_xml(to_svg({Chart{}})));
}

/// The picture in the README. LAMINA_UPDATE_DOCUMENTS=1 writes it anew.
TEST(PictureOfTheReadme, IsWhatTheSchedulesGiveToday) {
  std::vector<Chart> charts;
  for (const auto& [schedule, title] : {std::pair{"one_forward_one_backward", "one_forward_one_backward"},
                                        std::pair{"layered_modular", "layered_modular, four layers on each rank"}}) {
    charts.push_back(unit_cells(table_of(schedule, 4, 8, 16)));
    charts.back().title = title;
  }
  const std::string svg = to_svg(charts);
  EXPECT_LT(svg.size(), 60'000U);
  const std::filesystem::path file = tests::source_folder() / "docs/images/schedules.svg";
  if (std::getenv("LAMINA_UPDATE_DOCUMENTS") != nullptr) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << svg;
  }
  std::ifstream stream(file, std::ios::binary);
  const std::string committed((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  EXPECT_EQ(committed, svg) << "run with LAMINA_UPDATE_DOCUMENTS=1";
}

}  // namespace
}  // namespace lamina::draw
