// Moodle's "Download all submissions" of an assignment, in folders or without.
//
//   <full name>_<number>_assignsubmission_<plugin>[_]/...       in folders (the default)
//   <full name>_<number>_assignsubmission_<plugin>_<file>       without
//   <full name>_<number>/...                                    as some sites' downloads have it
//
// From mod/assign/classes/downloader.php of moodle/moodle (get_student_prefix,
// load_submissionplugin_filelist); up to 4.0 the same is in mod/assign/locallib.php. '_' of names is written as
// a space, so the first '_' ends the name. Where students hand in as groups it is the group's name and number,
// or a name alone for those without a group; with blind marking the name is the word for "Participant". Before
// 4.0 the name of a group that the teacher chose stands in front, with '-'. The plugins are `file`, and
// `onlinetext` for what was typed into the page. Times are in the grading worksheet (roster.h).
#include <map>
#include <regex>

#include "course/ingest/layout_reader.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace moodle_layout {
namespace {

const std::regex& full_form() {
  static const std::regex form(R"(([^_]+)(?:_(\d+))?_assignsubmission_([a-z]+)(?:_(.*))?)");
  return form;
}
const std::regex& short_form() {
  static const std::regex form(R"(([^_]*[^\d_ ][^_]*)_(\d{4,}))");
  return form;
}

// The word by which blind marking names everybody: 'participant' in mod_assign's language files.
bool is_everybody(const std::string& name) {
  for (const char* word : {"Participant", "Participant/e", "Teilnehmer/in", "Teilnehmerin", "Participante",
                           "Deelnemer", "Participant-e"})
    if (name == word) return true;
  return false;
}

// "Group A-Ada Lovelace": where the teacher chose a group.
std::vector<std::string> readings_of(const std::string& name) {
  std::vector<std::string> names{name};
  for (std::size_t at = name.find('-'); at != std::string::npos; at = name.find('-', at + 1))
    names.push_back(name.substr(at + 1));
  return names;
}

struct Name {
  std::string person, number, plugin, file;
  std::string key() const { return number.empty() ? person : number; }
};

std::optional<Name> name_of(const ExportEntry& entry) {
  std::smatch part;
  if (std::regex_match(entry.name, part, full_form()) && (entry.is_folder || part[4].length() > 0))
    return Name{part[1], part[2], part[3], part[4]};
  if (entry.is_folder && std::regex_match(entry.name, part, short_form()))
    return Name{part[1], part[2], "file", ""};
  return std::nullopt;
}

bool fits(const Export& given) {
  const auto full = [](const ExportEntry& entry) { return std::regex_match(entry.name, full_form()); };
  // A name with a space and a number: no id of a student looks so.
  const auto named = [](const ExportEntry& entry) {
    return entry.is_folder && std::regex_match(entry.name, short_form()) &&
           entry.name.find(' ') != std::string::npos && !fs::exists(entry.path / ".git");
  };
  return most(given.entries, full) || most(given.entries, named);
}

StudentKeys owner_of(const Name& name) {
  StudentKeys owner;
  owner.moodle_id = name.number;
  owner.name = name.person;
  if (!is_everybody(name.person) || name.number.empty()) owner.keys = readings_of(name.person);
  return owner;
}

void add_entry(RawAttempt& attempt, const ExportEntry& entry, const Name& name) {
  if (!entry.is_folder) {
    add_file(attempt, entry, name.file);
    return;
  }
  attempt.folder = entry.path;
  refuse_for(attempt, entry);
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  struct OfOne {
    RawAttempt attempt;
    std::string person;
    std::vector<const ExportEntry*> typed;  // into the page
  };
  std::map<std::string, OfOne> by_key;
  for (const ExportEntry& entry : from.entries) {
    const auto name = name_of(entry);
    if (!name || (name->plugin != "file" && name->plugin != "onlinetext")) {
      left_aside.push_back(entry.name);
      continue;
    }
    auto& [attempt, person, typed] = by_key[name->key()];
    if (attempt.owners.empty()) {
      attempt.owners.push_back(owner_of(*name));
      person = name->person;
    } else if (person != name->person) {
      refuse_shared_number(name->number, attempt.origin, entry.name);
    }
    if (name->plugin == "onlinetext") {
      typed.push_back(&entry);
      if (attempt.origin.empty()) attempt.origin = entry.name;
    } else {
      if (attempt.folder.empty() && attempt.files.empty()) attempt.origin = entry.name;
      add_entry(attempt, entry, *name);
    }
  }
  std::vector<RawAttempt> list;
  for (auto& [key, one] : by_key) {
    // A text beside files is a remark; alone it is the hand-in.
    const bool has_files = !one.attempt.folder.empty() || !one.attempt.files.empty() || one.attempt.refusal;
    for (const ExportEntry* entry : one.typed) {
      if (has_files)
        left_aside.push_back(entry->name);
      else
        add_entry(one.attempt, *entry, *name_of(*entry));
    }
    list.push_back(std::move(one.attempt));
  }
  return list;
}

}  // namespace
}  // namespace moodle_layout

const LayoutReader kMoodleLayout{"moodle", moodle_layout::fits, moodle_layout::read};

}  // namespace warpgrade
