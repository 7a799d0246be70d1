#include "sim/scenario/tree.hpp"

#include <algorithm>
#include <istream>
#include <map>
#include <optional>
#include <streambuf>
#include <utility>

#include <fmt/core.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "sim/scenario/fault.hpp"
#include "sim/scenario/text_file.hpp"

namespace lamina::scenario {
namespace {

[[noreturn]] void refuse(const Position& position, const std::string& problem, const std::string& read = "",
                         const std::string& allowed = "") {
  fail(position.location(), "", {problem, read, allowed});
}

/// Reads from memory that is already there (std::istringstream would copy it).
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());  // a get area; streambuf's interface is not const-correct
    setg(begin, begin, begin + text.size());
  }
};

int count_values(const Tree& tree) {
  int count = 1;
  for (const Tree& item : tree.items) {
    count += count_values(item);
  }
  for (const TreeEntry& entry : tree.entries) {
    count += 1 + count_values(entry.value);
  }
  return count;
}

int depth_of(const Tree& tree) {
  int deepest = 0;
  for (const Tree& item : tree.items) {
    deepest = std::max(deepest, depth_of(item));
  }
  for (const TreeEntry& entry : tree.entries) {
    deepest = std::max(deepest, depth_of(entry.value));
  }
  return deepest + 1;
}

/// Builds the tree from yaml-cpp's parse events. Working on events instead of YAML::Node makes aliases visible where
/// they stand, so that their expansion can be counted before it happens, and keeps duplicate keys.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const std::string> source, bool line_numbers)
      : source_(std::move(source)), line_numbers_(line_numbers) {}

  [[nodiscard]] Tree take_root() {
    if (!root_.position.source) {
      root_.position.source = source_;  // an empty document still is a file's
    }
    return std::move(root_);
  }

  [[nodiscard]] Position at(const YAML::Mark& mark) const {
    return line_numbers_ && mark.line >= 0 ? Position{source_, mark.line + 1, mark.column + 1}
                                           : Position{source_, 0, 0};
  }

  void OnDocumentStart(const YAML::Mark&) override {}

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Tree tree;
    tree.position = at(mark);
    count(1, tree.position);
    finish(std::move(tree), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      refuse(at(mark), "The alias stands inside the value that it repeats.");
    }
    count(found->second.values, at(mark));
    if (static_cast<int>(open_.size()) + found->second.depth > kDeepestNesting) {
      fail_depth(at(mark));
    }
    Tree copy = found->second.tree;
    finish(std::move(copy), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Tree tree;
    tree.position = at(mark);
    // Plain scalars carry the tag "?", quoted ones "!": only a plain empty, ~ or null is nothing.
    const bool plain = tag == "?" || tag.empty();
    const bool nothing =
        plain && (value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL");
    tree.kind = nothing ? Tree::Kind::kNull : Tree::Kind::kScalar;
    tree.text = nothing ? "" : value;
    count(1, tree.position);
    finish(std::move(tree), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Tree::Kind::kList, mark, anchor);
  }

  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Tree::Kind::kMapping, mark, anchor);
  }

  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Tree tree;
    YAML::anchor_t anchor = 0;
    std::optional<TreeEntry> entry;             ///< key read, value awaited
    std::map<std::string, Position> keys_seen;  ///< mappings only
  };

  struct Anchored {
    Tree tree;
    int values = 0;
    int depth = 0;
  };

  void count(int values, const Position& position) {
    if (values > kMostValues - values_) {
      refuse(position, "The document holds too many values (aliases count as often as they are expanded).", "",
             fmt::format("at most {} values", kMostValues));
    }
    values_ += values;
  }

  [[noreturn]] static void fail_depth(const Position& position) {
    refuse(position, "The document is nested too deeply.", "", fmt::format("at most {} levels", kDeepestNesting));
  }

  void open(Tree::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    const Position position = at(mark);
    if (static_cast<int>(open_.size()) >= kDeepestNesting) {
      fail_depth(position);
    }
    refuse_as_key(position);
    count(1, position);
    Open fresh;
    fresh.tree.kind = kind;
    fresh.tree.position = position;
    fresh.anchor = anchor;
    open_.push_back(std::move(fresh));
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    finish(std::move(done.tree), done.anchor);
  }

  [[nodiscard]] bool awaits_key() const {
    return !open_.empty() && open_.back().tree.kind == Tree::Kind::kMapping && !open_.back().entry;
  }

  void refuse_as_key(const Position& position) const {
    if (awaits_key()) {
      refuse(position, "A key must be a plain word, not a list or a mapping.");
    }
  }

  void take_key(Tree key) {
    Open& parent = open_.back();
    if (!key.is_scalar()) {
      refuse(key.position, "A key must be a plain word.", describe(key));
    }
    const auto [seen, fresh] = parent.keys_seen.emplace(key.text, key.position);
    if (!fresh) {
      const std::string where = seen->second.line > 0 ? fmt::format(" (first in line {})", seen->second.line) : "";
      refuse(key.position, fmt::format("The key \"{}\" occurs twice in one mapping{}.", key.text.substr(0, 80), where));
    }
    parent.entry = TreeEntry{std::move(key.text), key.position, {}};
  }

  void finish(Tree tree, YAML::anchor_t anchor) {
    if (anchor != 0) {
      const int values = count_values(tree);
      count(values, tree.position);  // the kept copy takes memory, too
      anchors_[anchor] = {tree, values, depth_of(tree)};
    }
    if (open_.empty()) {
      root_ = std::move(tree);
    } else if (open_.back().tree.kind == Tree::Kind::kList) {
      open_.back().tree.items.push_back(std::move(tree));
    } else if (awaits_key()) {
      refuse_collection_as_key(tree);
      take_key(std::move(tree));
    } else {
      Open& parent = open_.back();
      parent.entry->value = std::move(tree);
      parent.tree.entries.push_back(std::move(*parent.entry));
      parent.entry.reset();
    }
  }

  void refuse_collection_as_key(const Tree& tree) const {
    if (tree.kind == Tree::Kind::kList || tree.kind == Tree::Kind::kMapping) {
      refuse_as_key(tree.position);
    }
  }

  std::shared_ptr<const std::string> source_;
  bool line_numbers_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  int values_ = 0;
  Tree root_;
};

/// First pass: whatever yaml-cpp itself objects to is reported as such, before the builder can object to events that
/// stem from half-read syntax. Also refuses a second document.
class SyntaxCheck : public YAML::EventHandler {
 public:
  explicit SyntaxCheck(const TreeBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      refuse(builder_.at(mark), "The file holds several YAML documents (\"---\" or \"...\" in the middle).", "",
             "one document");
    }
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}

  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}

  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}

  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}

  void OnSequenceEnd() override {}

  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}

  void OnMapEnd() override {}

 private:
  const TreeBuilder& builder_;
  int documents_ = 0;
};

/// Feeds all documents of `text` to `handler`.
void parse_events(std::string_view text, YAML::EventHandler& handler) {
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  YAML::Parser parser(stream);
  while (parser.HandleNextDocument(handler)) {
  }
}

}  // namespace

error::Location Position::location() const {
  return {source ? *source : "", line, column};
}

const TreeEntry* Tree::find(std::string_view key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const TreeEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

TreeEntry* Tree::find(std::string_view key) {
  return const_cast<TreeEntry*>(std::as_const(*this).find(key));
}

void Tree::set(std::string_view key, Tree value) {
  const Position written = value.position;
  if (TreeEntry* found = find(key)) {
    *found = {std::string(key), written, std::move(value)};
  } else {
    entries.push_back({std::string(key), written, std::move(value)});
  }
}

void Tree::erase(std::string_view key) {
  std::erase_if(entries, [&](const TreeEntry& entry) { return entry.key == key; });
}

Tree scalar(std::string text, Position position) {
  Tree tree;
  tree.kind = Tree::Kind::kScalar;
  tree.position = std::move(position);
  tree.text = std::move(text);
  return tree;
}

Tree mapping(Position position) {
  Tree tree;
  tree.kind = Tree::Kind::kMapping;
  tree.position = std::move(position);
  return tree;
}

std::string describe(const Tree& tree) {
  constexpr std::size_t kLongestText = 80;
  switch (tree.kind) {
    case Tree::Kind::kNull:
      return "nothing";
    case Tree::Kind::kScalar:
      return tree.text.size() > kLongestText ? fmt::format("\"{}...\"", tree.text.substr(0, kLongestText))
                                             : fmt::format("\"{}\"", tree.text);
    case Tree::Kind::kList:
      return "a list";
    case Tree::Kind::kMapping:
      return "a mapping";
  }
  return "";
}

Tree parse_yaml(std::string_view text, const std::string& source, bool line_numbers) {
  check_text(text, source);
  TreeBuilder builder(std::make_shared<const std::string>(source), line_numbers);
  try {
    SyntaxCheck syntax(builder);
    parse_events(text, syntax);
    parse_events(text, builder);
  } catch (const YAML::DeepRecursion& problem) {
    refuse(builder.at(problem.mark), "The document is nested too deeply.", "",
           fmt::format("at most {} levels", kDeepestNesting));
  } catch (const YAML::Exception& problem) {
    refuse(builder.at(problem.mark), fmt::format("This is not valid YAML: {}.", problem.msg));
  }
  return builder.take_root();
}

}  // namespace lamina::scenario
