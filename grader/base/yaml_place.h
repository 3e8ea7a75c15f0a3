// A YAML node that knows where it stands: whatever is wrong with it is told with file, line, key, what was
// expected and what stands there. For policies, declared labs and other files that people write. What a
// message repeats of a file is cut here, and has no character that acts in a terminal.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace warpgrade {

class YamlPlace {
 public:
  YamlPlace(const YAML::Node& node, std::string file, std::string key, int line = 0)
      : node_(node), file_(std::move(file)), key_(std::move(key)), line_(line) {}
  YamlPlace(const YamlPlace&) = default;
  ~YamlPlace() = default;
  // Stands for the other node from now on. yaml-cpp's own assignment of nodes would write the other one into
  // the document in this one's place.
  YamlPlace& operator=(const YamlPlace& other) {
    if (this == &other) return *this;
    std::destroy_at(&node_);
    std::construct_at(&node_, other.node_);
    file_ = other.file_;
    key_ = other.key_;
    line_ = other.line_;
    return *this;
  }

  // Throws UsageError naming file and line for what is no YAML.
  static YamlPlace parse(const std::string& text, const std::string& file) {
    try {
      return {YAML::Load(text), file, ""};
    } catch (const YAML::Exception& error) {
      throw UsageError("{}:{}: not YAML: {}", file, error.mark.line + 1, plain_line(error.msg));
    }
  }

  YamlPlace operator[](const std::string& key) const {
    return {defined() && node_.IsMap() ? node_[key] : YAML::Node(YAML::NodeType::Undefined), file_,
            full_key(key), line()};
  }
  bool defined() const { return node_.IsDefined() && !node_.IsNull(); }
  bool is_map() const { return defined() && node_.IsMap(); }
  bool is_list() const { return defined() && node_.IsSequence(); }
  bool is_scalar() const { return defined() && node_.IsScalar(); }
  const YAML::Node& node() const { return node_; }
  const std::string& key() const { return key_; }
  const std::string& file() const { return file_; }

  // Of the node, from 1 on; of what it stands in, where there is no node.
  int line() const { return defined() && node_.Mark().line >= 0 ? node_.Mark().line + 1 : line_; }

  // "FILE:LINE: KEY: expected EXPECTED, got WHAT STANDS THERE".
  [[noreturn]] void fail(const std::string& expected) const {
    const std::string got = !defined()         ? "nothing"
                            : node_.IsScalar() ? quoted(node_.Scalar())
                            : node_.IsMap()    ? "a map"
                                               : "a list";
    refuse(fmt::format("expected {}, got {}", expected, got));
  }
  // "FILE:LINE: KEY: WHAT".
  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError("{}: {}", where(), plain_line(what, kLongestMessage));
  }
  static std::string quoted(const std::string& text) { return "'" + plain_line(text, kLongestQuote) + "'"; }
  // "FILE:LINE: KEY".
  std::string where() const {
    return fmt::format("{}{}{}{}", file_, line() > 0 ? fmt::format(":{}", line()) : "",
                       key_.empty() ? "" : ": ", shown(key_));
  }

  // One line: texts become code, names, and lines of terminals and tables. Block scalars (`>`) end in a line
  // break that is not meant.
  std::string text() const {
    if (!is_scalar()) fail("a word");
    std::string line = node_.Scalar();
    while (line.ends_with('\n')) line.pop_back();
    const bool has_break = line.find_first_of("\r\n") != std::string::npos;
    if (has_break || line.find('\t') != std::string::npos || plain_text(line) != line)
      fail(has_break ? "one line of text (behind `>`, YAML joins lines)"
                     : "text without control characters and marks of direction");
    return line;
  }
  std::string text_or(const std::string& fallback) const { return defined() ? text() : fallback; }

  double number(double low, double high) const {
    double value = 0;
    if (!is_scalar() || !YAML::convert<double>::decode(node_, value) || !(value >= low && value <= high)) {
      fail(fmt::format("a number from {} to {}", low, high));
    }
    return value;
  }
  double number_or(double fallback, double low, double high) const {
    return defined() ? number(low, high) : fallback;
  }
  std::int64_t whole(std::int64_t low, std::int64_t high) const {
    std::int64_t value = 0;
    if (!is_scalar() || !YAML::convert<std::int64_t>::decode(node_, value) || value < low || value > high)
      fail(fmt::format("a whole number from {} to {}", low, high));
    return value;
  }
  bool truth_or(bool fallback) const {
    if (!defined()) return fallback;
    bool value = fallback;
    if (!is_scalar() || !YAML::convert<bool>::decode(node_, value)) fail("true or false");
    return value;
  }

  std::string word(const std::set<std::string>& allowed) const {
    if (!defined() || !allowed.contains(text())) {
      std::string list;
      for (const std::string& known : allowed) list += (list.empty() ? "" : " or ") + known;
      fail(list + (is_scalar() ? meant(text(), allowed) : ""));
    }
    return text();
  }
  std::string word_or(const std::string& fallback, const std::set<std::string>& allowed) const {
    return defined() ? word(allowed) : fallback;
  }

  // Refuses a key of this map that is not among `keys`, with the one that was probably meant, and one that
  // this key occurs twice.
  void only(const std::set<std::string>& keys) const {
    if (!defined()) return;
    for (const auto& [key, place] : entries()) {
      if (!keys.contains(key)) refuse_key(place, key, keys);
    }
  }

  // Of a map, in the file's order.
  std::vector<std::pair<std::string, YamlPlace>> entries() const {
    if (!is_map()) fail("a map");
    std::vector<std::pair<std::string, YamlPlace>> all;
    std::set<std::string> seen;
    for (const auto& entry : node_) {
      const int at = entry.first.Mark().line + 1;
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
      const YamlPlace place(entry.second, file_, full_key(key), at);
      if (!entry.first.IsScalar()) place.refuse("expected a word as the key, got a list or a map");
      if (!seen.insert(key).second)
        throw UsageError("{}:{}: {}: this key occurs twice", file_, at, shown(full_key(key)));
      all.emplace_back(key, place);
    }
    return all;
  }
  // Of a list.
  std::vector<YamlPlace> items(const std::string& expected) const {
    if (!is_list()) fail(expected);
    std::vector<YamlPlace> all;
    for (std::size_t i = 0; i < node_.size(); ++i)
      all.emplace_back(node_[i], file_, fmt::format("{}[{}]", key_, i), line());
    return all;
  }

  // What stands there as JSON, which is YAML too: numbers and truths stay words.
  nlohmann::json to_json() const { return json_of(node_); }

  static std::string meant(const std::string& word, const std::set<std::string>& known) {
    const std::string nearest = nearest_word(word, known);
    return nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest);
  }

 private:
  static constexpr std::size_t kLongestQuote = 120, kLongestMessage = 600;

  static std::string shown(const std::string& key) { return plain_line(key, kLongestQuote); }

  static nlohmann::json json_of(const YAML::Node& node) {
    if (!node.IsDefined() || node.IsNull()) return nullptr;
    if (node.IsScalar()) return node.Scalar();
    nlohmann::json value = node.IsSequence() ? nlohmann::json::array() : nlohmann::json::object();
    if (node.IsSequence()) {
      for (const auto& item : node) value.push_back(json_of(item));
    } else {
      for (const auto& entry : node) value[entry.first.Scalar()] = json_of(entry.second);
    }
    return value;
  }

  std::string full_key(const std::string& key) const { return key_.empty() ? key : key_ + "." + key; }

  [[noreturn]] static void refuse_key(const YamlPlace& place, const std::string& key,
                                      const std::set<std::string>& keys) {
    std::string hint = meant(key, keys);
    if (hint.empty()) {
      for (const std::string& known : keys) hint += (hint.empty() ? "; known are " : ", ") + known;
    }
    throw UsageError("{}:{}: unknown key {}{}", place.file_, place.line_, shown(place.key_), hint);
  }

  YAML::Node node_;
  std::string file_, key_;
  int line_;  // of the key, or of what this stands in
};

}  // namespace warpgrade
