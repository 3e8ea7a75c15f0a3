// What every reference/<lab>/lab.yaml says in the same words, whether the lab is declared or its judge is
// C++: schema, name, baselines, and of a case its id, kind, set and purpose.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/yaml_place.h"
#include "judge/declaration/lab_declaration.h"

namespace warpgrade::declaration {

// Checks the schema; the lab's name, which is its folder's.
std::string read_lab_name(const YamlPlace& root, const std::filesystem::path& folder);

// `judge: C++`: what the file does not say is in grader/judge/labs/<lab>. For text that is no YAML: false.
bool has_written_judge(const std::string& text);

// Without any: naive. `folder`: the lab's, which theirs lie below.
std::vector<BaselineDeclaration> read_baselines(const YamlPlace& baselines,
                                                const std::filesystem::path& folder);

// A file or folder below the lab's own, as a path from there: not absolute, without "..", and by no link
// that leads out.
std::filesystem::path read_path_below(const YamlPlace& place, const std::filesystem::path& folder);

inline const std::set<std::string> kCaseWords{"id", "kind", "set", "why"};

// A case's id, kind, set and purpose. `id_fallback`: of a case that gives no id; empty: it must.
Case read_case_words(const YamlPlace& item, const std::string& id_fallback = "");

// What may name a case, a dataset or a set: it becomes a file's name.
bool is_case_id(const std::string& text);
std::string read_case_id(const YamlPlace& place);

}  // namespace warpgrade::declaration
