// Folders and archives that are named after their students, as a person lays them out.
//
//   folder    <student>/...; several attempts: <student>/attempt-1/, attempt-2/, ...
//   archives  <student>.zip, <student>.tar.gz, also among such folders
#include <algorithm>
#include <regex>
#include <set>

#include "course/ingest/layout_reader.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace folders_layout {
namespace {

std::string without_ending(const fs::path& archive) {
  fs::path stem = archive.stem();
  if (stem.extension() == ".tar") stem = stem.stem();
  return stem.string();
}

const std::regex& attempt_form() {
  static const std::regex form(R"(attempt-(\d{1,6}))");
  return form;
}

// What lies in a student's folder, unpacked or refused.
std::set<std::string> names_in(const ExportEntry& folder) {
  std::set<std::string> names;
  for (const fs::path& path : visible_in(folder.path)) {
    const std::string name = path.filename().string();
    names.insert(fs::is_directory(path) ? name : name + "\n");  // a file is no attempt
  }
  for (const RefusedPart& part : folder.refused)
    if (!part.below.empty()) names.insert(part.below.begin()->string());
  return names;
}

void read_folder(const ExportEntry& folder, std::vector<RawAttempt>& attempts) {
  const std::set<std::string> names = names_in(folder);
  const bool several = !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return std::regex_match(name, attempt_form());
  });
  RawAttempt attempt;
  attempt.owners.push_back(keyed(folder.name));
  if (!several) {
    attempt.origin = folder.name;
    attempt.folder = folder.path;
    refuse_for(attempt, folder);
    attempts.push_back(std::move(attempt));
    return;
  }
  for (const std::string& name : names) {
    RawAttempt one = attempt;
    one.origin = folder.name + "/" + name;
    one.number = std::stoi(name.substr(8));
    one.folder = folder.path / name;
    refuse_for(one, folder, name);
    attempts.push_back(std::move(one));
  }
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  std::vector<RawAttempt> attempts;
  for (const ExportEntry& entry : from.entries) {
    if (entry.is_folder) {
      read_folder(entry, attempts);
    } else if (is_archive_name(entry.name)) {
      RawAttempt attempt;
      attempt.owners.push_back(keyed(without_ending(entry.name)));
      attempt.origin = entry.name;
      add_file(attempt, entry, entry.name);
      attempts.push_back(std::move(attempt));
    } else {
      left_aside.push_back(entry.name);
    }
  }
  return attempts;
}

}  // namespace
}  // namespace folders_layout

const LayoutReader kFolderLayout{"folder", nullptr, folders_layout::read};
const LayoutReader kArchivesLayout{"archives", nullptr, folders_layout::read};

}  // namespace warpgrade
