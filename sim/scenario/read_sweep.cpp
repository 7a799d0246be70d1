#include "sim/scenario/read_sweep.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/catalog/catalog.hpp"
#include "sim/scenario/axis_key.hpp"
#include "sim/scenario/axis_range.hpp"
#include "sim/scenario/fault.hpp"

namespace lamina::scenario {
namespace {

using Steps = std::vector<Setting>;

[[noreturn]] void refuse_expression(const Position& position, const std::string& path, const ExpressionFault& fault,
                                    const std::string& text, const std::string& nearest = "") {
  fail(position.location(), path,
       {fault.problem, fmt::format("column {} of \"{}\"", fault.column, text), fault.allowed, nearest});
}

Position command_line(std::string text) {
  constexpr std::size_t kShown = 200;
  return {std::make_shared<const std::string>(text.size() > kShown ? text.substr(0, kShown) : std::move(text)), 0, 0};
}

/// A list of mappings, or one mapping.
std::vector<const Tree*> mappings_of(const Tree& value, const std::string& path, const std::string& allowed) {
  std::vector<const Tree*> result;
  if (value.is_mapping()) {
    result.push_back(&value);
  } else if (value.kind == Tree::Kind::kList) {
    for (const Tree& item : value.items) {
      result.push_back(&item);
    }
  }
  const auto wrong = std::find_if(result.begin(), result.end(),
                                  [](const Tree* tree) { return !tree->is_mapping() || tree->entries.empty(); });
  if (result.empty() || wrong != result.end()) {
    const Tree& culprit = wrong == result.end() ? value : **wrong;
    fail(culprit.position.location(), path, {"The value has the wrong type.", describe(culprit), allowed});
  }
  return result;
}

class SweepReader {
 public:
  explicit SweepReader(const Context& context) : context_(context) {}

  void read_section(const Tree& section) {
    const SectionReader reader(context_.schema.section("sweep"), section, "sweep");
    spec_.limit = reader.large_integer("limit");
    if (const Tree* list = reader.value("list")) {
      read_list(*list);
    }
    if (const Tree* zip = reader.value("zip")) {
      for (const Tree* group : mappings_of(*zip, "sweep.zip", "a list of mappings from keys to lists of values")) {
        read_group(*group);
      }
    }
    if (const Tree* axes = reader.value("axes")) {
      if (!axes->is_mapping() || axes->entries.empty()) {
        reader.fail_at("axes", {axes->is_mapping() ? "There is no axis." : "The value has the wrong type.",
                                describe(*axes), "a mapping from keys to their values"});
      }
      for (const TreeEntry& axis : axes->entries) {
        read_axis(axis);
      }
    }
    if (const Tree* where = reader.value("where")) {
      read_filters(*where);
    }
  }

  void add_axis(const Override& axis) {
    const Position position = command_line(fmt::format("--axis {}={}", axis.key, axis.value));
    const AxisKey key = find_axis_key(context_.schema, axis.key, position);
    Tree values;
    if (const auto range = parse_range(axis.value, position)) {
      values = *range;
    } else if (axis.value.starts_with('=')) {
      values = scalar(axis.value, position);
    } else {
      values = parse_yaml(fmt::format("[{}]", axis.value), *position.source, false);
    }
    values.position = position;
    if (!on_command_line_.insert(key.name).second) {
      fail(position.location(), key.name, {"The axis is given twice."});
    }
    Factor factor = factor_of(key, values);
    const auto same = std::find_if(spec_.factors.begin(), spec_.factors.end(),
                                   [&](const Factor& f) { return f.keys.size() == 1 && f.keys[0].name == key.name; });
    if (same != spec_.factors.end()) {
      *same = std::move(factor);
      return;
    }
    take_key(key.name, position);
    spec_.factors.push_back(std::move(factor));
  }

  void add_filter(const std::string& condition) {
    add_filter(condition, command_line(fmt::format("--where {}", condition)));
  }

  SweepSpec finish() {
    keys_ = spec_.keys();
    for (const Factor& factor : spec_.factors) {
      for (const auto& step : factor.steps) {
        for (const auto& setting : step) {
          if (setting && setting->expression) {
            check_names(*setting->expression, setting->position, "=");
          }
        }
      }
    }
    for (const Filter& filter : spec_.filters) {
      check_names(filter.condition, filter.position, "");
    }
    return std::move(spec_);
  }

 private:
  /// A key belongs to one factor.
  void take_key(const std::string& key, const Position& position) {
    if (!taken_.insert(key).second) {
      fail(position.location(), key, {"The sweep varies this key twice."});
    }
  }

  [[nodiscard]] Steps read_values(const AxisKey& key, const Tree& value) const {
    std::vector<Tree> values;
    if (value.kind == Tree::Kind::kList) {
      values = value.items;
    } else if (value.is_mapping() && (value.find("from") != nullptr || value.find("to") != nullptr)) {
      values = expand_range(context_.schema, key, value);
    } else if (!value.is_null()) {
      values.push_back(value);
    }
    if (values.empty()) {
      fail(
          value.position.location(), key.name,
          {"The axis has no values.", "", "a list, a range {from, to, step | factor | points} or an expression = ..."});
    }
    if (values.size() > static_cast<std::size_t>(kMostSteps)) {
      fail(value.position.location(), key.name,
           {fmt::format("The axis has {} values.", values.size()), "", fmt::format("at most {}", kMostSteps)});
    }
    Steps steps;
    for (const Tree& item : values) {
      steps.push_back(read_setting(context_, key, item));
    }
    return steps;
  }

  void read_axis(const TreeEntry& entry) {
    const AxisKey key = find_axis_key(context_.schema, entry.key, entry.position);
    take_key(key.name, entry.position);
    spec_.factors.push_back(factor_of(key, entry.value));
  }

  /// An axis whose values differ.
  [[nodiscard]] Factor factor_of(const AxisKey& key, const Tree& values) const {
    std::set<std::string> seen;
    Factor factor{{swept(key)}, {}};
    for (Setting& setting : read_values(key, values)) {
      if (!seen.insert(setting.text).second) {
        fail(setting.position.location(), key.name, {"A value occurs twice on the axis.", setting.text});
      }
      factor.steps.push_back({std::move(setting)});
    }
    return factor;
  }

  void read_group(const Tree& group) {
    Factor factor;
    const TreeEntry* first = nullptr;
    for (const TreeEntry& entry : group.entries) {
      const AxisKey key = find_axis_key(context_.schema, entry.key, entry.position);
      take_key(key.name, entry.position);
      Steps steps = read_values(key, entry.value);
      if (first == nullptr) {
        first = &entry;
        factor.steps.resize(steps.size());
      } else if (steps.size() != factor.steps.size()) {
        fail(entry.position.location(), key.name,
             {"Keys that are zipped have equally many values.", fmt::format("{} values", steps.size()),
              fmt::format("{} values, as {} has", factor.steps.size(), first->key)});
      }
      factor.keys.push_back(swept(key));
      for (std::size_t i = 0; i < steps.size(); ++i) {
        factor.steps[i].emplace_back(std::move(steps[i]));
      }
    }
    spec_.factors.push_back(std::move(factor));
  }

  void read_list(const Tree& list) {
    const std::string allowed = "a list of mappings from keys to values";
    if (list.kind != Tree::Kind::kList) {
      fail(list.position.location(), "sweep.list", {"The value has the wrong type.", describe(list), allowed});
    }
    Factor factor;
    for (const Tree* point : mappings_of(list, "sweep.list", allowed)) {
      std::vector<std::optional<Setting>> step(factor.keys.size());
      for (const TreeEntry& entry : point->entries) {
        const AxisKey key = find_axis_key(context_.schema, entry.key, entry.position);
        auto known = std::find_if(factor.keys.begin(), factor.keys.end(),
                                  [&](const SweptKey& swept_key) { return swept_key.name == key.name; });
        if (known == factor.keys.end()) {
          take_key(key.name, entry.position);
          factor.keys.push_back(swept(key));
          step.emplace_back();
          known = factor.keys.end() - 1;
        }
        auto& setting = step[static_cast<std::size_t>(known - factor.keys.begin())];
        if (setting) {
          fail(entry.position.location(), key.name, {"The point sets this key twice."});
        }
        setting = read_setting(context_, key, entry.value);
      }
      factor.steps.push_back(std::move(step));
    }
    for (auto& step : factor.steps) {
      step.resize(factor.keys.size());
    }
    spec_.factors.push_back(std::move(factor));
  }

  void read_filters(const Tree& where) {
    const std::vector<Tree> conditions = where.kind == Tree::Kind::kList ? where.items : std::vector<Tree>{where};
    for (const Tree& condition : conditions) {
      if (!condition.is_scalar()) {
        fail(condition.position.location(), "sweep.where",
             {"The value has the wrong type.", describe(condition), "a condition, or a list of them"});
      }
      add_filter(condition.text, condition.position);
    }
  }

  void add_filter(const std::string& text, const Position& position) {
    auto condition = Expression::parse(text);
    if (!condition) {
      refuse_expression(position, "where", condition.error(), text);
    }
    spec_.filters.push_back({std::move(*condition), position});
  }

  void check_names(const Expression& expression, const Position& position, const std::string& prefix) const {
    for (const ExpressionName& name : expression.names()) {
      const std::string plain = without_alias(name.name);
      const bool is_size = std::find(size_names().begin(), size_names().end(), plain) != size_names().end();
      if (axis_named(name.name, keys_) || is_size) {
        continue;
      }
      std::vector<std::string> known = size_names();
      for (const std::string& key : keys_) {
        known.push_back(key.substr(key.rfind('.') + 1));
      }
      std::sort(known.begin(), known.end());
      known.erase(std::unique(known.begin(), known.end()), known.end());
      refuse_expression(
          position, "sweep",
          {name.column + prefix.size(), fmt::format("There is no \"{}\" here.", name.name), enumerate(known)},
          prefix + expression.text(), catalog::nearest_name(name.name, known));
    }
  }

  const Context& context_;
  SweepSpec spec_;
  std::set<std::string> taken_;
  std::set<std::string> on_command_line_;
  std::vector<std::string> keys_;
};

}  // namespace

SweepSpec read_sweep(const Context& context, const Tree* section, const std::vector<Override>& axes,
                     const std::vector<std::string>& filters) {
  SweepReader reader(context);
  reader.read_section(section == nullptr ? mapping({}) : *section);
  for (const Override& axis : axes) {
    reader.add_axis(axis);
  }
  for (const std::string& filter : filters) {
    reader.add_filter(filter);
  }
  return reader.finish();
}

}  // namespace lamina::scenario
