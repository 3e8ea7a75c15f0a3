// Words of a policy that stand for cases: a case's id, its dataset or its set. One function says which cases
// a word means, and one list which words a policy may use.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "record/case.h"

namespace warpgrade {

inline bool is_among(const std::set<std::string>& words, const Case& spec) {
  return words.contains(spec.id) || words.contains(spec.dataset) || words.contains(spec.set);
}

// Of a case the closest word holds: its id, else its dataset, else its set.
template <class T>
std::optional<T> value_of(const std::map<std::string, T>& by_word, const Case& spec) {
  for (const std::string& word : {spec.id, spec.dataset, spec.set})
    if (const auto found = by_word.find(word); found != by_word.end()) return found->second;
  return std::nullopt;
}

}  // namespace warpgrade
