#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace lamina::draw::testing {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;  ///< its own and those of the elements around it
  std::string text;                               ///< character data directly in it, entities resolved

  [[nodiscard]] double number(const std::string& attribute) const { return std::stod(attributes.at(attribute)); }

  [[nodiscard]] bool has(const std::string& attribute) const { return attributes.contains(attribute); }
};

/// Reads XML strictly, as far as the pictures use it: tags must balance, attributes be quoted and single, markup be
/// escaped, no control characters. Throws std::runtime_error otherwise.
class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : rest_(text) {}

  std::vector<Element> read() {
    take("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    while (!rest_.empty()) {
      if (rest_.front() == '<') {
        tag();
      } else {
        characters();
      }
    }
    require(open_.empty(), "an element is not closed");
    require(roots_ == 1, "there must be one root");
    return elements_;
  }

 private:
  static void require(bool holds, const std::string& problem) {
    if (!holds) {
      throw std::runtime_error("not well-formed: " + problem);
    }
  }

  void take(std::string_view expected) {
    require(rest_.substr(0, expected.size()) == expected, std::string(expected) + " expected");
    rest_.remove_prefix(expected.size());
  }

  std::string_view until(std::string_view stops) {
    const std::size_t end = rest_.find_first_of(stops);
    require(end != std::string_view::npos, "the text ends early");
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return found;
  }

  static std::string resolved(std::string_view text) {
    static const std::map<std::string, char> entities = {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}};
    std::string result;
    while (!text.empty()) {
      const char character = text.front();
      text.remove_prefix(1);
      require(static_cast<unsigned char>(character) >= 0x20 || character == '\n', "a control character");
      require(character != '<', "a bare <");
      if (character != '&') {
        result += character;
        continue;
      }
      const std::size_t end = text.find(';');
      require(end != std::string_view::npos, "a bare &");
      const auto entity = entities.find(std::string(text.substr(0, end)));
      require(entity != entities.end(), "an unknown entity");
      result += entity->second;
      text.remove_prefix(end + 1);
    }
    return result;
  }

  void characters() {
    const std::size_t end = std::min(rest_.find('<'), rest_.size());
    const std::string text = resolved(rest_.substr(0, end));
    rest_.remove_prefix(end);
    if (open_.empty()) {
      require(text.find_first_not_of('\n') == std::string::npos, "text outside the root");
    } else {
      elements_[open_.back()].text += text;
    }
  }

  void tag() {
    take("<");
    if (rest_.substr(0, 1) == "/") {
      take("/");
      const std::string_view name = until(">");
      take(">");
      require(!open_.empty() && elements_[open_.back()].name == name, "</" + std::string(name) + "> closes nothing");
      open_.pop_back();
      return;
    }
    Element element;
    element.name = until(" >/");
    require(!element.name.empty(), "an element without name");
    if (!open_.empty()) {
      element.attributes = elements_[open_.back()].attributes;
    }
    attributes(element);
    roots_ += open_.empty() ? 1 : 0;
    elements_.push_back(element);
    if (rest_.substr(0, 1) == "/") {
      take("/>");
    } else {
      take(">");
      open_.push_back(elements_.size() - 1);
    }
  }

  void attributes(Element& element) {
    std::map<std::string, std::string> own;
    while (rest_.substr(0, 1) == " ") {
      take(" ");
      const std::string name(until("= >"));
      take("=\"");
      const std::string value = resolved(until("\""));
      take("\"");
      require(own.emplace(name, value).second, "an attribute twice");
    }
    for (const auto& [name, value] : own) {
      element.attributes[name] = value;
    }
  }

  std::string_view rest_;
  std::vector<Element> elements_;
  std::vector<std::size_t> open_;  ///< indices of the elements around
  int roots_ = 0;
};

inline std::vector<Element> read_xml(const std::string& text) {
  return XmlReader(text).read();
}

}  // namespace lamina::draw::testing
