#include "cli/kept_mutants.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/page_part.h"
#include "base/toolchain.h"
#include "cli/harmless_mutants.h"
#include "judge/compile/compile_key.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kScoreSchema = "warpgrade.mutants_score.v1";
constexpr PagePart kScorePart{"## How much the cases see",
                              "<!-- mutants: made by `warpgrade labs mutants --keep` -->",
                              "<!-- end of mutants -->"};

// What a mutant's verdict follows from.
std::string judged_text(const fs::path& file) {
  YAML::Node lab = YAML::Load(read_text(file));
  YAML::Node judged(YAML::NodeType::Sequence);
  for (YAML::Node one : lab["cases"]) {
    if (one["kind"] && one["kind"].Scalar() == "speed") continue;
    one.remove("why");
    judged.push_back(one);
  }
  lab["cases"] = judged;
  for (const char* key : {"work", "terms", "baselines", "summary", "python"}) lab.remove(key);
  return YAML::Dump(lab);
}

json json_of(const MutantScore& score) {
  return {{"schema", kScoreSchema},
          {"listed", score.listed},
          {"tried", score.tried},
          {"changing", score.changing()},
          {"refused", score.refused},
          {"explained", score.explained},
          {"survivors", score.survivors},
          {"unreached", score.unreached},
          {"never_launched", score.never_launched},
          {"shapes", score.shapes},
          {"seed", score.seed},
          {"toolkit", score.toolkit},
          {"of", score.of}};
}

MutantScore score_from(const json& kept) {
  MutantScore score;
  score.listed = kept.at("listed");
  score.tried = kept.at("tried");
  score.refused = kept.at("refused");
  score.explained = kept.at("explained");
  score.survivors = kept.at("survivors");
  score.unreached = kept.at("unreached");
  score.never_launched = kept.value("never_launched", std::size_t{0});
  score.shapes = kept.value("shapes", std::size_t{0});
  score.seed = kept.at("seed");
  score.toolkit = kept.value("toolkit", "");
  score.of = kept.value("of", "");
  return score;
}

// As mdformat writes it.
std::string table_of(const MutantScore& score) {
  return fmt::format(
      "\n| mutants tried | random shapes | change an output | refused | accepted with a reason | without one "
      "| "
      "no case gets there | kernels that no case launches |\n| -: | -: | -: | -: | -: | -: | -: | -: |\n"
      "| {} of {} | {} | {} | {:.1f} % | {} | {} | {} | {} |\n\n",
      score.tried, score.listed, score.shapes, score.changing(), 100 * score.share_refused(), score.explained,
      score.survivors, score.unreached, score.never_launched);
}

}  // namespace

MutantScore score_of_mutants(const json& report) {
  json counts = report;
  for (const char* list : {"explained", "survivors", "unreached", "never_launched"})
    counts[list] = report.value(list, json::array()).size();
  return score_from(counts);
}

std::string key_of_mutants(const std::string& lab) {
  Sha256 hash;
  hash.part(judged_text(project_root() / "reference" / lab / "lab.yaml"));
  for (const auto& [id, folder] : solutions_of(lab)) add_folder(hash.part(id), folder);
  return hash.hex();
}

fs::path kept_mutants_file(const std::string& lab) {
  return project_root() / "reference" / lab / "mutants.json";
}

std::optional<KeptMutants> read_kept_mutants(const std::string& lab) {
  const fs::path file = kept_mutants_file(lab);
  if (!fs::exists(file)) return std::nullopt;
  try {
    const json kept = json::parse(read_text(file));
    if (kept.at("schema") != kScoreSchema) return std::nullopt;
    const MutantScore score = score_from(kept);
    return KeptMutants{score, score.of != key_of_mutants(lab)};
  } catch (const json::exception& damaged) {
    throw UsageError("{} is damaged ({}): `warpgrade labs mutants {} --keep` makes it anew", file.string(),
                     damaged.what(), lab);
  }
}

void keep_mutants(const std::string& lab, const MutantScore& score) {
  write_text(kept_mutants_file(lab), json_text(json_of(score), 1) + "\n");
  const fs::path page = project_root() / "reference" / lab / "README.md";
  if (fs::exists(page)) write_text(page, with_part(read_text(page), kScorePart, table_of(score)));
}

std::string words_of(const MutantScore& score) {
  return fmt::format("{:.1f} % of {} refused", 100 * score.share_refused(), score.changing());
}

json json_of(const std::optional<KeptMutants>& kept) {
  if (!kept) return nullptr;
  json of_lab = json_of(kept->score);
  of_lab["share_refused"] = kept->score.share_refused();
  of_lab["is_stale"] = kept->is_stale;
  return of_lab;
}

}  // namespace warpgrade
