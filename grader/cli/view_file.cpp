#include "cli/view_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace warpgrade {
using nlohmann::json;

namespace {

constexpr std::uintmax_t kMostBytes = 16 << 20;
constexpr int kDeepest = 16;
constexpr const char* kSchema = "warpgrade.feedback.v1";

json parsed(const std::string& text) {
  bool too_deep = false;
  json value = json::parse(
      text,
      [&](int depth, json::parse_event_t, json&) {
        too_deep |= depth > kDeepest;
        return depth <= kDeepest;
      },
      false);
  return too_deep ? json() : value;
}

// Whether every format can be made: reading tells a field of another kind.
bool can_be_exported(const json& view) {
  try {
    if (view.value("schema", "") != kSchema || !view.at("cases").is_array() ||
        !view.at("person").at("id").is_string())
      return false;
    for (const char* key : {"run", "lab", "points", "max_points", "verdict", "made_from"})
      if (!view.contains(key)) return false;
    const std::vector<ScoredCase> cases = View(view).cases;
    return std::ranges::none_of(
        cases, [](const ScoredCase& line) { return line.id.empty() || line.verdict.empty(); });
  } catch (const json::exception&) {
    return false;
  }
}

}  // namespace

const std::set<std::string>& formats_of_a_view() {
  static const std::set<std::string> formats{"view",    "github",       "gitlab", "gradescope",
                                             "autolab", "prairielearn", "junit"};
  return formats;
}

ExportedClass class_of_view(const std::filesystem::path& file) {
  if (std::filesystem::file_size(file) > kMostBytes)
    throw UsageError("{}: a view has at most {} MiB", file.string(), kMostBytes >> 20);
  json view = parsed(read_text(file));
  make_plain(view);
  if (!view.is_object() || !can_be_exported(view))
    throw UsageError(
        "{}: expected one student's view (schema {}), as feedback/<student>/feedback.json or `warpgrade "
        "export RUN --format view` has it",
        file.string(), kSchema);
  ExportedClass one;
  one.own = one.everyone = one.graded = {view};
  return one;
}

}  // namespace warpgrade
