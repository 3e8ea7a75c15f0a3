#include "course/feedback/board.h"

#include "course/ingest/times.h"
#include "record/view.h"

namespace warpgrade {
using nlohmann::json;

namespace {

bool was_there(const Scored& scored, const Policy::Board& board, std::int64_t now) {
  if (!board.is_frozen(now)) return true;
  const auto at = parse_time(scored.submitted_at);
  return !at || *at < board.frozen_from;
}

// Whether `scored` is listed rather than another attempt of the same people.
bool is_listed_before(const Policy::Board& board, const Scored& scored, const Scored& other) {
  const bool is_later = scored.attempt > other.attempt;
  if (board.attempt == "last") return is_later;
  if (board.attempt == "counts" && scored.counts != other.counts) return scored.counts;
  return scored.points > other.points || (scored.points == other.points && is_later);
}

std::string people_of(const Scored& scored) {
  return scored.members.empty() ? scored.id : json(scored.members).dump();
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
  std::map<std::string, std::string> own, names = pseudonyms;    // by people; by submission
  std::map<std::string, std::pair<Scored, const json*>> listed;  // by people
  for (const json& submission : parts.scores.at("submissions")) {
    const Scored scored = submission;
    if (!scored.is_students()) continue;
    const std::string people = people_of(scored);
    const auto name = pseudonyms.find(scored.id);
    if (name != pseudonyms.end() && scored.counts) own[people] = name->second;
    if (scored.undecided_cases > 0 || !was_there(scored, board, now)) continue;
    const auto [best, is_first] = listed.try_emplace(people, scored, &submission);
    if (!is_first && is_listed_before(board, scored, best->second.first))
      best->second = {scored, &submission};
  }
  std::vector<json> kept;
  for (const auto& [people, best] : listed) {
    if (const auto name = own.find(people); name != own.end()) names[best.first.id] = name->second;
    kept.push_back(*best.second);
    kept.back()["counts"] = true;
  }
  parts.scores["submissions"] = std::move(kept);
  std::vector<json> views = feedback_views(policy, parts, names, {}, "");
  std::erase_if(views, [](const json& view) { return view.at("verdict") == Verdict::kNotSubmitted; });
  return views;
}

}  // namespace warpgrade
