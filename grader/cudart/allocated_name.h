// What a program calls an allocation: the variable that the call names in the source, `d_x` in
// `cudaMalloc(&d_x, bytes)`.
#pragma once
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace warpgrade::cudart {

namespace allocated_name {

inline bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Where the arguments of a call of the runtime that allocates begin; npos: there is none.
inline size_t arguments(std::string_view text) {
  for (const std::string_view call : {"cudaMallocManaged", "cudaMallocAsync", "cudaMallocFromPoolAsync",
                                      "cudaMallocPitch", "cudaMallocHost", "cudaHostAlloc", "cudaMalloc"}) {
    for (size_t at = text.find(call); at != std::string_view::npos; at = text.find(call, at + 1)) {
      if (at > 0 && is_of_name(text[at - 1])) continue;
      size_t behind = at + call.size();
      if (behind < text.size() && text[behind] == '<') behind = text.find('>', behind) + 1;
      if (behind > 0 && behind < text.size() && text[behind] == '(') return behind + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace allocated_name

// Empty where the text names none in a way that is understood.
inline std::string name_in_allocation(std::string_view text) {
  size_t at = allocated_name::arguments(text);
  if (at == std::string_view::npos) return {};
  const size_t amp = text.find('&', at), comma = text.find(',', at);
  if (amp == std::string_view::npos || (comma != std::string_view::npos && comma < amp)) return {};
  std::string name;
  int open = 0;
  for (at = amp + 1; at < text.size() && name.size() < 40; ++at) {
    const char c = text[at];
    if (c == '[' || (c == '(' && (name.empty() || open > 0))) ++open;  // (*plan)->rows
    const bool closes = open > 0 && (c == ']' || c == ')');
    if (closes) --open;
    const bool arrow = c == '-' && at + 1 < text.size() && text[at + 1] == '>';
    const bool follows = c == '>' && !name.empty() && name.back() == '-';
    if (c == ' ') continue;
    if (!allocated_name::is_of_name(c) && c != '.' && c != ':' && !arrow && !follows && open == 0 && !closes)
      break;
    name += c;
  }
  return open == 0 && !name.empty() && name.size() < 40 ? name : std::string();
}

// Of a call whose place is a line, from 1. A call of several lines may begin above.
inline std::string name_in_allocation(const std::vector<std::string>& lines, size_t line) {
  constexpr size_t kMostLines = 4;
  std::string text;
  for (size_t k = 0; k < kMostLines && line > k && line - k <= lines.size(); ++k) {
    const std::string& above = lines[line - k - 1];
    if (k > 0 && above.find(';') != std::string::npos) break;
    text = above + " " + text;
    if (std::string name = name_in_allocation(text); !name.empty()) return name;
  }
  return {};
}

// "`d_x` (allocation #2, 400 bytes)" for "allocation #2 (400 bytes)".
inline std::string with_name(std::string text, const std::string& allocation, const std::string& name) {
  const std::string quoted = "`" + name + "` (" + allocation;
  for (size_t at = text.find(allocation); at != std::string::npos; at = text.find(allocation, at)) {
    const size_t end = at + allocation.size();
    const bool is_longer = end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0;
    const bool is_named = at > 0 && text[at - 1] == '(';  // already, or in somebody's parentheses
    if (is_longer || is_named) {
      at = end;
      continue;
    }
    const bool has_size = text.compare(end, 2, " (") == 0;
    text.replace(at, has_size ? end + 2 - at : end - at, quoted + (has_size ? ", " : ")"));
    at += quoted.size();
  }
  return text;
}

}  // namespace warpgrade::cudart
