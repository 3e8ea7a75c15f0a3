#include "judge/declaration/signature.h"

#include <fmt/format.h>

#include <cctype>
#include <stdexcept>

namespace warpgrade::declaration {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
}

// Words ("std::int32_t" is one) and single signs.
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    if (is_word(text[at]))
      while (end < text.size() && is_word(text[end])) ++end;
    else if (std::string("*(),&").find(text[at]) == std::string::npos)
      throw std::invalid_argument(fmt::format("'{}' does not belong into a call", text[at]));
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

// "const", "int", "*": "const int*".
std::string joined(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    if (!text.empty() && token != "*" && token != "&") text += ' ';
    text += token;
  }
  return text;
}

Signature::Argument argument_of(std::vector<std::string> tokens) {
  if (tokens.size() < 2 || !is_word(tokens.back().front()))
    throw std::invalid_argument(
        fmt::format("expected a type and a name, for instance `const int* in`, got `{}`", joined(tokens)));
  const std::string name = tokens.back();
  tokens.pop_back();
  return {joined(tokens), name};
}

}  // namespace

Signature parse_signature(const std::string& text) {
  const std::vector<std::string> tokens = tokens_of(text);
  std::size_t open = 0;
  while (open < tokens.size() && tokens[open] != "(") ++open;
  if (open < 2 || open == tokens.size() || tokens.back() != ")")
    throw std::invalid_argument("expected `cudaError_t NAME(TYPE NAME, ...)`");
  Signature signature;
  signature.function = tokens[open - 1];
  signature.returns = joined({tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(open) - 1});
  std::vector<std::string> argument;
  for (std::size_t i = open + 1; i < tokens.size(); ++i) {
    const bool ends = i + 1 == tokens.size();
    if (tokens[i] == "(" || (tokens[i] == ")" && !ends))
      throw std::invalid_argument("expected no parentheses within");
    if (tokens[i] != "," && !ends) {
      argument.push_back(tokens[i]);
      continue;
    }
    signature.arguments.push_back(argument_of(std::move(argument)));
    argument.clear();
  }
  return signature;
}

}  // namespace warpgrade::declaration
