#include "judge/declaration/lab_words.h"

#include <algorithm>
#include <cctype>

namespace warpgrade::declaration {

constexpr const char* kExpectedId = "letters, digits, '.', '_' and '-', 60 at most";

std::string read_lab_name(const YamlPlace& root, const std::filesystem::path& folder) {
  if (root["schema"].text_or("") != "warpgrade.lab.v1") root["schema"].fail("warpgrade.lab.v1");
  const std::string name = root["name"].text(), expected = folder.filename().string();
  if (name != expected) root["name"].fail("the folder's name, " + expected);
  return name;
}

bool has_written_judge(const std::string& text) {
  try {
    const YAML::Node root = YAML::Load(text);
    return root.IsMap() && root["judge"].IsDefined();
  } catch (const YAML::Exception&) {
    return false;
  }
}

namespace {

namespace fs = std::filesystem;

bool lies_below(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() && rest != path.end();
}

}  // namespace

fs::path read_path_below(const YamlPlace& place, const fs::path& folder) {
  constexpr const char* kExpected = "a path below the lab's folder, without '..' and '/' in front";
  const fs::path path(place.text());
  const bool climbs = std::find(path.begin(), path.end(), "..") != path.end();
  if (path.empty() || path == "." || path.is_absolute() || climbs) place.fail(kExpected);
  std::error_code none;
  const fs::path home = fs::weakly_canonical(folder, none), there = fs::weakly_canonical(folder / path, none);
  if (none || !lies_below(there, home))
    place.refuse(fmt::format("{} is a link that leads out of the lab's folder: put a copy there",
                             YamlPlace::quoted(path.string())));
  return path;
}

std::vector<BaselineDeclaration> read_baselines(const YamlPlace& baselines, const fs::path& folder) {
  if (!baselines.defined()) return {{"naive", "naive", {}, true}};
  std::vector<BaselineDeclaration> list;
  for (const YamlPlace& place : baselines.items("a list, for instance [{name: naive, folder: naive}]")) {
    place.only({"name", "folder", "libraries", "every_pair"});
    BaselineDeclaration baseline;
    baseline.name = read_case_id(place["name"]);
    baseline.folder = read_path_below(place[place["folder"].defined() ? "folder" : "name"], folder);
    baseline.every_pair = place["every_pair"].truth_or(true);
    if (place["libraries"].defined())
      for (const YamlPlace& library : place["libraries"].items("a list, for instance [cublas]"))
        baseline.libraries.push_back(read_case_id(library));
    list.push_back(std::move(baseline));
  }
  return list;
}

bool is_case_id(const std::string& text) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  };
  return !text.empty() && text.size() <= 60 && text[0] != '.' && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), fits);
}

std::string read_case_id(const YamlPlace& place) {
  const std::string text = place.text();
  if (!is_case_id(text)) place.fail(kExpectedId);
  return text;
}

Case read_case_words(const YamlPlace& item, const std::string& id_fallback) {
  Case words;
  const bool named = item["id"].defined() || id_fallback.empty();
  words.id = named ? read_case_id(item["id"]) : id_fallback;
  if (!is_case_id(words.id)) item["id"].fail(fmt::format("an id, since '{}' cannot be one", words.id));
  words.why = item["why"].text_or("");
  words.kind = item["kind"].word_or("correctness", {"correctness", "speed"});
  words.set = item["set"].text_or(words.kind == "speed" ? "timed" : "public");
  if (!is_case_id(words.set)) item["set"].fail(kExpectedId);
  return words;
}

}  // namespace warpgrade::declaration
