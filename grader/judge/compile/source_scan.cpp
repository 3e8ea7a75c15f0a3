#include "judge/compile/source_scan.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace warpgrade {
namespace {

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool continues_name(char c) {
  return begins_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

using Tokens = std::vector<std::string_view>;  // names, "::", numbers and strings as "0", else one character

bool has(const Tokens& tokens, std::string_view word) {
  return std::find(tokens.begin(), tokens.end(), word) != tokens.end();
}

constexpr std::array<std::string_view, 8> kNoFunction{
    "__launch_bounds__", "__attribute__", "alignas", "decltype", "noexcept", "__declspec", "asm", "requires"};

// The statement before a { or a ; at file scope: what it defines.
class Statement {
 public:
  explicit Statement(const Tokens& tokens) : tokens_(tokens) {}

  // Where the bracket of a function's parameters opens; 0: it is no function.
  std::size_t parameters() const {
    int angle = 0;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i] == "=" && angle == 0) return 0;
      if (tokens_[i] == "<") ++angle;
      if (tokens_[i] == ">" && angle > 0) --angle;
      if (tokens_[i] != "(") continue;
      const bool name = i > 0 && (begins_name(tokens_[i - 1][0]) || has(operators_before(i), "operator"));
      if (name && angle == 0 &&
          std::find(kNoFunction.begin(), kNoFunction.end(), tokens_[i - 1]) == kNoFunction.end())
        return i;
      i = behind_bracket(i);
    }
    return 0;
  }

  // "SpMMOpt::run" of "void SpMMOpt::run(".
  std::string name_before(std::size_t end) const {
    std::string name(tokens_[end - 1]);
    for (std::size_t i = end - 1; i >= 2 && tokens_[i - 1] == "::" && begins_name(tokens_[i - 2][0]); i -= 2)
      name = std::string(tokens_[i - 2]) + "::" + name;
    return name;
  }

  std::string parameter_text(std::size_t open) const {
    std::string text;
    const std::size_t end = std::min(behind_bracket(open) + 1, tokens_.size());
    for (std::size_t i = open; i < end; ++i) text += std::string(tokens_[i]) + ' ';
    return text;
  }

  // Variables of "int a = 1, b[3];".
  std::vector<std::string> variables() const {
    std::vector<std::string> names;
    bool value = false;
    int depth = 0;
    for (std::size_t i = 0; i <= tokens_.size(); ++i) {
      const std::string_view token = i < tokens_.size() ? tokens_[i] : ",";
      if (token == "(" || token == "[") ++depth;
      const bool ends = (depth == 0 && (token == "," || token == "=")) || (depth == 1 && token == "[");
      if (ends && !value && i > 0 && begins_name(tokens_[i - 1][0])) names.emplace_back(tokens_[i - 1]);
      if (ends) value = token != ",";
      if (token == ")" || token == "]") --depth;
    }
    return names;
  }

 private:
  Tokens operators_before(std::size_t i) const {
    return {tokens_.begin() + static_cast<std::ptrdiff_t>(i - std::min<std::size_t>(i, 3)),
            tokens_.begin() + static_cast<std::ptrdiff_t>(i)};
  }
  std::size_t behind_bracket(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      if (tokens_[i] == "(") ++depth;
      if (tokens_[i] == ")" && --depth == 0) return i;
    }
    return tokens_.size();
  }
  const Tokens& tokens_;
};

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  SourceScan run() {
    while (at_ < text_.size()) step();
    return std::move(scan_);
  }

 private:
  enum class Scope { kOpen, kAnonymous };  // namespaces and extern "C"; anything else is skipped to its end

  char next(std::size_t behind) const { return at_ + behind < text_.size() ? text_[at_ + behind] : '\0'; }

  void step() {
    const char c = text_[at_];
    if (c == '\n') line_begins_ = true;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at_;
    } else if (c == '/' && next(1) == '/') {
      skip_line();
    } else if (c == '/' && next(1) == '*') {
      const std::size_t end = text_.find("*/", at_ + 2);
      at_ = end == std::string_view::npos ? text_.size() : end + 2;
    } else if (c == '#' && line_begins_) {
      directive();
    } else {
      line_begins_ = false;
      token();
    }
  }

  void token() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return quoted(c);
    if (begins_name(c)) {
      const std::string_view name = take_name();
      if (!name.empty() && name.back() == 'R' && name.size() <= 3 && next(0) == '"') return raw_string();
      if (!dead()) scan_.uses.emplace(name);
      return add(name);
    }
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      while (at_ < text_.size() && (continues_name(text_[at_]) || text_[at_] == '.' || text_[at_] == '\''))
        ++at_;
      return add("0");
    }
    if (c == ':' && next(1) == ':') {
      at_ += 2;
      return add("::");
    }
    ++at_;
    if (dead()) return;
    if (c == '{') return open();
    if (c == '}') return close();
    if (c == ';' && skipped_ == 0) return end_statement(false);
    add(text_.substr(at_ - 1, 1));
  }

  std::string_view take_name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void add(std::string_view token) {
    if (skipped_ == 0 && !dead()) statement_.push_back(token);
  }

  void quoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, text_.size());
    add("\"");
  }

  void raw_string() {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > 17) return quoted('"');
    const std::string end = ")" + std::string(text_.substr(at_ + 1, open - at_ - 1)) + "\"";
    const std::size_t close = text_.find(end, open);
    at_ = close == std::string_view::npos ? text_.size() : close + end.size();
    add("\"");
  }

  void skip_line() {
    const std::size_t end = text_.find('\n', at_);
    at_ = end == std::string_view::npos ? text_.size() : end;
  }

  // ---- the preprocessor's lines

  struct Branch {
    bool dead = false, was_dead = false;  // this branch is #if 0; the whole lies in one
    std::vector<Scope> scopes;
    std::size_t skipped = 0;
  };

  bool dead() const { return !branches_.empty() && branches_.back().dead; }

  void directive() {
    const std::size_t begin = at_ + 1;
    std::size_t end = begin;
    while (end < text_.size() && (text_[end] != '\n' || text_[end - 1] == '\\' ||
                                  (text_[end - 1] == '\r' && end >= 2 && text_[end - 2] == '\\')))
      ++end;
    std::string_view line = text_.substr(begin, end - begin);
    at_ = end;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const std::size_t word = std::min(line.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), line.size());
    const std::string_view name = line.substr(0, word);
    std::string_view rest = line.substr(word);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (name == "if" || name == "ifdef" || name == "ifndef") {
      const bool zero =
          name == "if" && rest.starts_with('0') && (rest.size() == 1 || !continues_name(rest[1]));
      branches_.push_back({dead() || zero, dead(), scopes_, skipped_});
    } else if ((name == "else" || name == "elif") && !branches_.empty()) {
      Branch& branch = branches_.back();
      if (!branch.dead) {  // the other branch begins where this one began
        scopes_ = branch.scopes;
        skipped_ = branch.skipped;
      }
      branch.dead = branch.was_dead;
    } else if (name == "endif" && !branches_.empty()) {
      branches_.pop_back();
    } else if (!dead()) {
      if (name == "include")
        include(rest);
      else
        names_in(rest);
    }
  }

  void include(std::string_view rest) {
    if (!rest.starts_with('"')) return;
    const std::size_t end = rest.find('"', 1);
    if (end != std::string_view::npos) scan_.includes.emplace_back(rest.substr(1, end - 1));
  }

  // A macro's text uses what it names.
  void names_in(std::string_view line) {
    for (std::size_t i = 0; i < line.size();) {
      if (!begins_name(line[i])) {
        ++i;
        continue;
      }
      const std::size_t begin = i;
      while (i < line.size() && continues_name(line[i])) ++i;
      scan_.uses.emplace(line.substr(begin, i - begin));
    }
  }

  // ---- braces

  void open() {
    if (skipped_ > 0) {
      ++skipped_;
      return;
    }
    const bool linkage = statement_.size() == 2 && statement_[0] == "extern" && statement_[1] == "\"";
    const bool space = !statement_.empty() && (statement_[0] == "namespace" ||
                                               (statement_[0] == "inline" && has(statement_, "namespace")));
    if ((linkage || space) && scopes_.size() < 1000) {
      scopes_.push_back(space && statement_.back() == "namespace" ? Scope::kAnonymous : Scope::kOpen);
      statement_.clear();
      return;
    }
    is_body_ = has_parameters();
    if (is_body_) end_statement(true);
    skipped_ = 1;
  }

  bool has_parameters() const {
    const bool type = !statement_.empty() && (statement_[0] == "class" || statement_[0] == "enum");
    return !type && Statement(statement_).parameters() != 0;
  }

  void close() {
    if (skipped_ > 0) {
      if (--skipped_ == 0 && is_body_) statement_.clear();
      return;
    }
    if (!scopes_.empty()) scopes_.pop_back();
    statement_.clear();
  }

  void end_statement(bool body) {
    define(body);
    statement_.clear();
  }

  void define(bool body) {
    const bool internal = std::find(scopes_.begin(), scopes_.end(), Scope::kAnonymous) != scopes_.end() ||
                          has(statement_, "static");
    if (statement_.empty() || internal) return;
    const Statement statement(statement_);
    if (const std::size_t open = statement.parameters(); open != 0) {
      const std::string name = statement.name_before(open);
      const bool is_template = has(statement_, "template");
      if (!body && !(is_template && has(statement_, "<"))) return;  // a declaration
      scan_.offers.insert(name.substr(name.rfind(':') == std::string::npos ? 0 : name.rfind(':') + 1));
      if (!body) return;
      scan_.functions.insert(name);
      if (!is_template && !has(statement_, "inline") && !has(statement_, "__forceinline__") &&
          !has(statement_, "constexpr"))
        scan_.strong.insert(name + statement.parameter_text(open));
      return;
    }
    for (const char* word : {"extern", "using", "typedef", "template", "friend", "const", "constexpr",
                             "struct", "class", "enum", "union", "__device__", "__constant__", "__shared__"})
      if (has(statement_, word)) return;
    if (statement_.size() < 2) return;
    for (const std::string& name : statement.variables()) {
      scan_.offers.insert(name);
      scan_.strong.insert(name);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool line_begins_ = true, is_body_ = false;
  std::vector<Scope> scopes_;
  std::size_t skipped_ = 0;  // open braces of what is not looked into
  std::vector<Branch> branches_;
  Tokens statement_;
  SourceScan scan_;
};

}  // namespace

SourceScan scan_source(std::string_view text) {
  return Scanner(text).run();
}

}  // namespace warpgrade
