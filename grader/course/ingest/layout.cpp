#include "course/ingest/layout.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <set>

#include "base/error.h"
#include "base/untrusted.h"
#include "course/ingest/layout_names.h"
#include "course/ingest/times.h"
#include "course/ingest/unpack.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr const char* kGradescopeFile = "submission_metadata.yml";
constexpr std::uint64_t kMostMetadataBytes = 256 << 20;

const std::regex& canvas_form() {
  static const std::regex form(R"(([^_]+)_(LATE_)?(\d+)_(\d+)_(.+))");
  return form;
}
const std::regex& autolab_form() {
  static const std::regex form(R"((.+@[^_]+)_(\d+)_(.+))");
  return form;
}

bool is_hidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with(".") || name == "__MACOSX";
}

// Of a folder that cannot be read: none; taking its snapshot says why.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (!is_hidden(entry.path()) && !entry.is_symlink()) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

StudentKeys keyed(const std::string& key) {
  StudentKeys keys;
  keys.keys = {key};
  return keys;
}

// ---- gradescope

// Keys are Ruby symbols: ":created_at".
YAML::Node symbol(const YAML::Node& map, const std::string& key) {
  if (!map.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
  const YAML::Node node = map[":" + key];
  return node.IsDefined() ? node : map[key];
}

std::string text_of(const YAML::Node& node) {
  return node.IsDefined() && node.IsScalar() && !node.IsNull() ? node.Scalar() : "";
}

RawAttempt gradescope_attempt(const fs::path& folder, const std::string& id, const YAML::Node& about) {
  RawAttempt attempt;
  attempt.origin = id;
  attempt.folder = folder / id;
  const YAML::Node created = symbol(about, "created_at");
  // A time with its zone is written as an object by some exports.
  const std::string at = text_of(created.IsMap() ? created["utc"] : created);
  attempt.submitted_at = parse_time(at);
  if ((!at.empty() || created.IsMap()) && !attempt.submitted_at) {
    throw UsageError("{}: {}.:created_at: expected a time, got '{}'", (folder / kGradescopeFile).string(), id,
                     at);
  }
  for (const YAML::Node& submitter : symbol(about, "submitters")) {
    StudentKeys owner;
    owner.name = text_of(symbol(submitter, "name"));
    owner.email = text_of(symbol(submitter, "email"));
    owner.keys = {text_of(symbol(submitter, "sid")), owner.email, owner.name};
    attempt.owners.push_back(std::move(owner));
  }
  if (attempt.owners.empty()) attempt.owners.push_back(keyed(id));
  return attempt;
}

std::vector<RawAttempt> read_gradescope(const fs::path& folder) {
  const fs::path file = folder / kGradescopeFile;
  const UntrustedFile text = UntrustedFolder(folder).read(kGradescopeFile, kMostMetadataBytes);
  if (!text.ok()) throw UsageError("{}", describe(text.state, file, kMostMetadataBytes));
  YAML::Node metadata;
  try {
    metadata = YAML::Load(text.bytes);
  } catch (const YAML::Exception& error) {
    throw UsageError("{}:{}: not YAML: {}", file.string(), error.mark.line + 1, error.msg);
  }
  if (!metadata.IsMap())
    throw UsageError("{}: expected a map from submission_<id> to what is known of it", file.string());
  std::vector<RawAttempt> attempts;
  for (const auto& entry : metadata)
    attempts.push_back(gradescope_attempt(folder, entry.first.as<std::string>(), entry.second));
  return attempts;
}

std::vector<std::string> without_metadata(const std::vector<fs::path>& entries,
                                          const std::vector<RawAttempt>& attempts) {
  std::set<std::string> known{kGradescopeFile};
  for (const RawAttempt& attempt : attempts) known.insert(attempt.origin);
  std::vector<std::string> names;
  for (const fs::path& entry : entries)
    if (!known.contains(entry.filename().string())) names.push_back(entry.filename().string());
  return names;
}

// ---- canvas, autolab: loose files, several of which may be one attempt

// Canvas marks the n-th resubmission by -n in front of the ending.
std::string without_resubmission(const std::string& name, int& number) {
  static const std::regex kForm(R"((.+)-(\d{1,3})((?:\.tar)?\.[A-Za-z0-9]+))");
  std::smatch part;
  if (!std::regex_match(name, part, kForm)) return name;
  number = std::stoi(part[2]) + 1;
  return part[1].str() + part[3].str();
}

std::vector<RawAttempt> read_canvas(const std::vector<fs::path>& entries,
                                    std::vector<std::string>& left_aside) {
  std::map<std::pair<std::string, long long>, RawAttempt> attempts;  // by user and submission
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename().string();
    std::smatch part;
    if (!std::regex_match(name, part, canvas_form())) {
      left_aside.push_back(name);
      continue;
    }
    RawAttempt& attempt = attempts[{part[3], std::stoll(part[4].str().substr(0, 18))}];
    if (attempt.owners.empty()) {
      StudentKeys owner = keyed(part[1]);
      owner.canvas_id = part[3];
      attempt.owners.push_back(owner);
      attempt.origin = name;
    }
    attempt.late_marked |= part[2].matched;
    attempt.files.push_back({entry, without_resubmission(part[5], attempt.number)});
  }
  std::vector<RawAttempt> list;
  for (auto& [key, attempt] : attempts) list.push_back(std::move(attempt));
  return list;
}

std::vector<RawAttempt> read_autolab(const std::vector<fs::path>& entries,
                                     std::vector<std::string>& left_aside) {
  std::map<std::pair<std::string, int>, RawAttempt> attempts;  // by address and version
  for (const fs::path& entry : entries) {
    const std::string name = entry.filename().string();
    std::smatch part;
    if (!std::regex_match(name, part, autolab_form())) {
      left_aside.push_back(name);
      continue;
    }
    const int version = std::stoi(part[2].str().substr(0, 9));
    RawAttempt& attempt = attempts[{part[1], version}];
    if (attempt.owners.empty()) {
      StudentKeys owner = keyed(part[1]);
      owner.email = part[1];
      attempt.owners.push_back(owner);
      attempt.origin = name;
      attempt.number = version;
    }
    attempt.files.push_back({entry, part[3]});
  }
  std::vector<RawAttempt> list;
  for (auto& [key, attempt] : attempts) list.push_back(std::move(attempt));
  return list;
}

// ---- folders and archives, named after their students

// One that is not read either: its student is told.
bool is_archive(const fs::path& file) {
  return fs::is_regular_file(file) && (looks_like_archive(file) || looks_like_foreign_archive(file));
}

std::string without_ending(const fs::path& archive) {
  fs::path stem = archive.stem();
  if (stem.extension() == ".tar") stem = stem.stem();
  return stem.string();
}

void add_folder(const fs::path& folder, std::vector<RawAttempt>& attempts) {
  static const std::regex kAttempt(R"(attempt-(\d{1,6}))");
  const std::string student = folder.filename().string();
  const std::vector<fs::path> entries = entries_of(folder);
  const bool several =
      !entries.empty() && std::all_of(entries.begin(), entries.end(), [](const fs::path& entry) {
        return fs::is_directory(entry) && std::regex_match(entry.filename().string(), kAttempt);
      });
  if (!several) {
    RawAttempt attempt;
    attempt.owners.push_back(keyed(student));
    attempt.origin = student;
    attempt.folder = folder;
    attempts.push_back(std::move(attempt));
    return;
  }
  for (const fs::path& entry : entries) {
    RawAttempt attempt;
    attempt.owners.push_back(keyed(student));
    attempt.origin = student + "/" + entry.filename().string();
    attempt.number = std::stoi(entry.filename().string().substr(8));
    attempt.folder = entry;
    attempts.push_back(std::move(attempt));
  }
}

std::vector<RawAttempt> read_folders(const std::vector<fs::path>& entries,
                                     std::vector<std::string>& left_aside) {
  std::vector<RawAttempt> attempts;
  for (const fs::path& entry : entries) {
    if (fs::is_directory(entry)) {
      add_folder(entry, attempts);
    } else if (is_archive(entry)) {
      RawAttempt attempt;
      attempt.owners.push_back(keyed(without_ending(entry)));
      attempt.origin = entry.filename().string();
      attempt.files.push_back({entry, entry.filename().string()});
      attempts.push_back(std::move(attempt));
    } else {
      left_aside.push_back(entry.filename().string());
    }
  }
  return attempts;
}

// More than half: a stray file beside them is left aside and told.
bool most_match(const std::vector<fs::path>& entries, const std::regex& form) {
  const auto matching = std::count_if(entries.begin(), entries.end(), [&](const fs::path& entry) {
    return fs::is_regular_file(entry) && std::regex_match(entry.filename().string(), form);
  });
  return 2 * static_cast<std::size_t>(matching) > entries.size();
}

std::string detect(const fs::path& folder, const std::vector<fs::path>& entries) {
  if (fs::exists(folder / kGradescopeFile)) return "gradescope";
  if (const std::string named = layout_by_names(entries); !named.empty()) return named;
  if (most_match(entries, autolab_form())) return "autolab";
  if (most_match(entries, canvas_form())) return "canvas";
  return std::any_of(entries.begin(), entries.end(), is_archive) ? "archives" : "folder";
}

// A folder that is an export by its contents, and not one student's.
bool holds_an_export(const fs::path& folder) {
  if (fs::exists(folder / kGradescopeFile)) return true;
  const std::vector<fs::path> entries = entries_of(folder);
  const std::string layout = entries.empty() ? "folder" : detect(folder, entries);
  return layout != "folder" && layout != "archives";
}

}  // namespace

Layout read_layout(const fs::path& given, const std::string& name, const std::string& lab,
                   const TimeZone& zone) {
  fs::path folder = given;
  std::vector<fs::path> entries = entries_of(folder);
  // An export packed with its own folder around it.
  while (entries.size() == 1 && fs::is_directory(entries[0]) && name != "folder" &&
         holds_an_export(entries[0])) {
    folder = entries[0];
    entries = entries_of(folder);
  }
  Layout layout{name == "auto" ? detect(folder, entries) : name, {}, {}};
  if (layout.name == "gradescope") {
    if (!fs::exists(folder / kGradescopeFile))
      throw UsageError("{}: no {} in it; is it Gradescope's \"Export Submissions\"?", folder.string(),
                       kGradescopeFile);
    layout.attempts = read_gradescope(folder);
    layout.left_aside = without_metadata(entries, layout.attempts);
  } else if (layout.name == "canvas") {
    layout.attempts = read_canvas(entries, layout.left_aside);
  } else if (layout.name == "autolab") {
    layout.attempts = read_autolab(entries, layout.left_aside);
  } else if (layout.name == "moodle") {
    layout.attempts = read_moodle(entries, layout.left_aside);
  } else if (layout.name == "blackboard") {
    layout.attempts = read_blackboard(entries, zone, layout.left_aside);
  } else if (layout.name == "brightspace") {
    layout.attempts = read_brightspace(entries, zone, layout.left_aside);
  } else if (layout.name == "github") {
    layout.attempts = read_github(entries, layout.left_aside);
  } else if (layout.name == "folder" || layout.name == "archives") {
    layout.attempts = read_folders(entries, layout.left_aside);
  } else {
    throw UsageError(
        "there is no layout '{}'; the layouts are: auto, folder, archives, gradescope, canvas, autolab, "
        "moodle, blackboard, "
        "brightspace, github",
        name);
  }
  if (layout.attempts.empty()) {
    throw UsageError(
        "{} holds no submission: expected a sub-folder or an archive for each student with {}.cu in it, or "
        "an LMS's bulk export",
        given.string(), lab);
  }
  return layout;
}

}  // namespace warpgrade
