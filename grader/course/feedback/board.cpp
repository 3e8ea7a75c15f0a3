#include "course/feedback/board.h"

#include "course/ingest/times.h"
#include "record/verdict.h"

namespace warpgrade {
using nlohmann::json;

namespace {

bool was_there(const json& scored, const Policy::Board& board, std::int64_t now) {
  if (!board.is_frozen(now)) return true;
  const auto at = parse_time(scored.value("submitted_at", ""));
  return !at || *at < board.frozen_from;
}

// Whether `scored` is listed rather than another attempt of the same people.
bool is_listed_before(const Policy::Board& board, const json& scored, const json& other) {
  const bool is_later = scored.value("attempt", 0) > other.value("attempt", 0);
  if (board.attempt == "last") return is_later;
  if (board.attempt == "counts" && scored.value("counts", true) != other.value("counts", true))
    return scored.value("counts", true);
  const double points = scored.value("points", 0.0), others = other.value("points", 0.0);
  return points > others || (points == others && is_later);
}

std::string people_of(const json& scored) {
  return scored.contains("members") ? scored.at("members").dump() : scored.at("id").get<std::string>();
}

}  // namespace

Policy::Board board_at(const Policy& policy, const json& class_list) {
  Policy::Board board = policy.visibility.board;
  if (board.freeze_before_s == 0 || !class_list.is_object()) return board;
  const auto deadline = parse_time(class_list.value("deadline", ""));
  if (!deadline) return board;
  const TimeZone zone = TimeZone::named(policy.timezone);
  board.frozen_from = *deadline - board.freeze_before_s;
  board.frozen_until = *deadline + board.freeze_after_s;
  board.frozen_from_text = zone.text(board.frozen_from);
  board.frozen_until_text = zone.text(board.frozen_until);
  return board;
}

bool lists_other_attempts(const Policy::Board& board, std::int64_t now) {
  return board.attempt != "counts" || board.is_frozen(now);
}

std::vector<json> board_views(const Policy& policy, RunParts parts,
                              const std::map<std::string, std::string>& pseudonyms, std::int64_t now) {
  const Policy::Board& board = policy.visibility.board;
  std::map<std::string, std::string> own, names = pseudonyms;  // by people; by submission
  std::map<std::string, json*> listed;                         // by people
  for (json& scored : parts.scores.at("submissions")) {
    if (scored.value("role", "student") != "student") continue;
    const auto name = pseudonyms.find(scored.at("id").get<std::string>());
    if (name != pseudonyms.end() && scored.value("counts", true)) own[people_of(scored)] = name->second;
    if (scored.value("undecided_cases", 0) > 0 || !was_there(scored, board, now)) continue;
    json*& best = listed[people_of(scored)];
    if (best == nullptr || is_listed_before(board, scored, *best)) best = &scored;
  }
  std::vector<json> kept;
  for (const auto& [people, scored] : listed) {
    if (const auto name = own.find(people); name != own.end())
      names[scored->at("id").get<std::string>()] = name->second;
    kept.push_back(*scored);
    kept.back()["counts"] = true;
  }
  parts.scores["submissions"] = std::move(kept);
  std::vector<json> views = feedback_views(policy, parts, names, {}, "");
  std::erase_if(views, [](const json& view) { return view.at("verdict") == Verdict::kNotSubmitted; });
  return views;
}

}  // namespace warpgrade
