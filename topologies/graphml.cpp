#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <fmt/format.h>

#include "sim/catalog/catalog.hpp"
#include "sim/scenario/fault.hpp"
#include "topologies/graph_file.hpp"

namespace lamina::topologies {
namespace {

using Element = boost::property_tree::ptree;

constexpr int kDeepestElement = 32;

[[noreturn]] void refuse(const std::string& file, int line, const std::string& problem, const std::string& read = "",
                         const std::string& allowed = "") {
  scenario::fail({file, line, 0}, "", {problem, read, allowed});
}

int line_of(std::string_view text, std::size_t at) {
  return static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1;
}

/// Behind the first `end` from `from` on; the end of the text if there is none (the parser then reports it).
std::size_t after(std::string_view text, std::size_t from, std::string_view end) {
  const std::size_t found = text.find(end, from);
  return found == std::string_view::npos ? text.size() : found + end.size();
}

/// End of the tag that starts at `at`; quoted attribute values may contain ">".
std::size_t end_of_tag(std::string_view text, std::size_t at) {
  char quote = 0;
  for (; at < text.size(); ++at) {
    if (quote != 0) {
      quote = text[at] == quote ? '\0' : quote;
    } else if (text[at] == '"' || text[at] == '\'') {
      quote = text[at];
    } else if (text[at] == '>') {
      return at;
    }
  }
  return at;
}

/// The parser recurses into elements and would run out of stack on a hostile file; document types could only bring
/// entities, which GraphML does not need.
void check_depth(std::string_view text, const std::string& file) {
  int depth = 0;
  for (std::size_t at = text.find('<'); at < text.size(); at = text.find('<', at)) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("<!--")) {
      at = after(text, at + 4, "-->");
    } else if (rest.starts_with("<![CDATA[")) {
      at = after(text, at, "]]>");
    } else if (rest.starts_with("<?")) {
      at = after(text, at, "?>");
    } else if (rest.starts_with("<!")) {
      refuse(file, line_of(text, at), "Document type declarations are not read.", "", "GraphML without <!DOCTYPE ...>");
    } else {
      const std::size_t end = end_of_tag(text, at);
      const bool closes = rest.starts_with("</");
      const bool empty = end < text.size() && text[end - 1] == '/';
      depth += closes ? -1 : empty ? 0 : 1;
      if (depth > kDeepestElement) {
        refuse(file, line_of(text, at), "The elements are nested too deeply.", "",
               fmt::format("at most {} levels", kDeepestElement));
      }
      at = end;
    }
  }
}

Element parse(const std::string& text, const std::string& file) {
  check_depth(text, file);
  try {
    std::istringstream stream(text);
    Element root;
    boost::property_tree::read_xml(
        stream, root,
        boost::property_tree::xml_parser::no_comments | boost::property_tree::xml_parser::trim_whitespace);
    return root;
  } catch (const boost::property_tree::xml_parser_error& fault) {
    refuse(file, static_cast<int>(fault.line()), fmt::format("This is no XML: {}.", fault.message()));
  }
}

std::string attribute(const Element& element, const char* name) {
  const auto attributes = element.find("<xmlattr>");
  if (attributes == element.not_found()) {
    return "";
  }
  const auto found = attributes->second.find(name);
  return found == attributes->second.not_found() ? "" : found->second.data();
}

/// A declared attribute of nodes or of edges.
struct Key {
  std::string name;
  std::string default_value;
};

using Keys = std::map<std::string, Key>;  ///< by id

/// The keys of nodes ("node") or edges ("edge") that mean something here.
Keys read_keys(const Element& graphml, const std::string& domain, const std::vector<std::string>& known,
               const std::string& file) {
  Keys keys;
  for (const auto& [tag, element] : graphml) {
    const std::string belongs_to = attribute(element, "for");
    if (tag != "key" || (belongs_to != domain && belongs_to != "all")) {
      continue;
    }
    const std::string name = attribute(element, "attr.name");
    const std::string nearest = catalog::nearest_name(name, known);
    const bool is_known = std::find(known.begin(), known.end(), name) != known.end();
    if (!is_known && !nearest.empty()) {
      scenario::fail({file, 0, 0}, fmt::format("key {}", attribute(element, "id")),
                     {fmt::format("There is no such attribute of an {}.", domain == "node" ? "<node>" : "<edge>"),
                      fmt::format("\"{}\"", name), fmt::format("{}", fmt::join(known, ", ")), nearest});
    }
    if (is_known) {
      keys[attribute(element, "id")] = {name, element.get<std::string>("default", "")};
    }
  }
  return keys;
}

void set(scenario::Tree& tree, const std::string& key, const std::string& value) {
  tree.set(key, scenario::scalar(value, tree.position));
}

void set_data(scenario::Tree& tree, const Element& element, const Keys& keys) {
  for (const auto& [id, key] : keys) {
    if (!key.default_value.empty()) {
      set(tree, key.name, key.default_value);
    }
  }
  for (const auto& [tag, data] : element) {
    const auto found = tag == "data" ? keys.find(attribute(data, "key")) : keys.end();
    if (found != keys.end()) {
      set(tree, found->second.name, data.data());
    }
  }
}

void set_attribute(scenario::Tree& tree, const std::string& key, const Element& element, const char* name) {
  const std::string value = attribute(element, name);
  if (!value.empty()) {
    set(tree, key, value);
  }
}

void check_kind(const std::string& tag, const Element& element, const std::string& file) {
  const bool nested = tag == "node" && element.count("graph") > 0;
  if (tag == "hyperedge" || nested) {
    refuse(file, 0, nested ? "A node contains a graph." : "Hyperedges cannot be read.",
           fmt::format("<{} id=\"{}\">", tag, attribute(element, "id")), "nodes, and edges between two of them");
  }
  if (tag == "edge" && attribute(element, "directed") == "true") {
    refuse(file, 0, "Every edge is a cable that carries traffic both ways.",
           fmt::format("a directed edge from \"{}\" to \"{}\"", attribute(element, "source"),
                       attribute(element, "target")),
           "undirected edges");
  }
}

const Element& only_graph(const Element& graphml, const std::string& file) {
  if (graphml.count("graph") != 1) {
    refuse(file, 0, "A network is one graph.", fmt::format("{} <graph> elements", graphml.count("graph")),
           "one <graph> inside <graphml>");
  }
  const Element& graph = graphml.find("graph")->second;
  if (attribute(graph, "edgedefault") != "undirected") {
    refuse(file, 0, "Every edge is a cable that carries traffic both ways.",
           fmt::format("edgedefault=\"{}\"", attribute(graph, "edgedefault")), "edgedefault=\"undirected\"");
  }
  return graph;
}

}  // namespace

void read_graphml(const std::string& text, const std::string& file, GraphBuilder& builder) {
  const Element root = parse(text, file);
  if (root.size() != 1 || root.front().first != "graphml") {
    refuse(file, 0, "This is no GraphML.", "", "one <graphml> element");
  }
  const Element& graphml = root.front().second;
  const Element& graph = only_graph(graphml, file);
  const scenario::Position position{std::make_shared<const std::string>(file), 0, 0};
  const Keys node_keys = read_keys(graphml, "node", graph_node_keys(), file);
  const Keys edge_keys = read_keys(graphml, "edge", graph_edge_keys(), file);
  for (const auto& [tag, element] : graph) {
    check_kind(tag, element, file);
    if (tag == "node") {
      scenario::Tree node = scenario::mapping(position);
      set_attribute(node, "name", element, "id");
      set_data(node, element, node_keys);
      builder.add_node(node);
    }
  }
  for (const auto& [tag, element] : graph) {
    if (tag == "edge") {
      scenario::Tree edge = scenario::mapping(position);
      set_attribute(edge, "from", element, "source");
      set_attribute(edge, "to", element, "target");
      set_data(edge, element, edge_keys);
      builder.add_edge(edge);
    }
  }
}

}  // namespace lamina::topologies
