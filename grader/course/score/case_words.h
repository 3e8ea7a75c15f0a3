// Words of a policy that stand for cases: a case's id, its dataset or its set. One function says which cases
// a word means, and one list which words a policy may use.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

namespace warpgrade {

// `spec` as run.json lists it: id, dataset, set.
inline bool is_among(const std::set<std::string>& words, const nlohmann::json& spec) {
  for (const char* key : {"id", "dataset", "set"})
    if (const auto word = spec.find(key); word != spec.end() && words.contains(word->get<std::string>()))
      return true;
  return false;
}

// Of a case the closest word holds: its id, else its dataset, else its set.
template <class T>
std::optional<T> value_of(const std::map<std::string, T>& by_word, const nlohmann::json& spec) {
  for (const char* key : {"id", "dataset", "set"}) {
    const auto word = spec.find(key);
    if (word == spec.end()) continue;
    if (const auto found = by_word.find(word->get<std::string>()); found != by_word.end())
      return found->second;
  }
  return std::nullopt;
}

}  // namespace warpgrade
