// Autolab's "Download submissions" (download_all, download_batch): one file a version.
//
//   <email>_<version>_<handin>          where the hand-in's name has no '_'
//   <version>_<email>_<a>_<b>           where it is a_b; of longer ones: <version>_<first parts>_<email>_<a>_<b>
//
// From app/controllers/submissions_controller.rb of autolab/Autolab (download_filename): the address is put in
// front of the last two parts of "<version>_<handin>", whatever these are. The hand-in's name is the
// assignment's, the same for everybody; app/models/submission.rb (handin_file_long_filename) always has the
// address in front.
#include <map>
#include <regex>
#include <set>

#include "course/ingest/layout_reader.h"

namespace warpgrade {
namespace autolab_layout {
namespace {

struct Name {
  std::string email, file;
  std::vector<std::string> readings;  // of the address, where parts of the hand-in's name are in front of it
  int version = 0;
};

std::optional<Name> name_of(const std::string& given) {
  static const std::regex kFirst(R"((.+@[^_@]+)_(\d{1,9})_(.+))");
  static const std::regex kMiddle(R"((\d{1,9})_(.+@[^_@]+)_([^_]+_[^_]+))");
  std::smatch part;
  if (std::regex_match(given, part, kFirst)) return Name{part[1], part[3], {}, std::stoi(part[2])};
  if (std::regex_match(given, part, kMiddle)) {
    Name name{part[2], part[3], {}, std::stoi(part[1])};
    for (std::size_t at = name.email.find('_'); at != std::string::npos; at = name.email.find('_', at + 1))
      name.readings.push_back(name.email.substr(at + 1));
    return name;
  }
  return std::nullopt;
}

// The hand-in's name is the same for everybody; PrairieLearn's files begin alike and end differently.
bool fits(const Export& given) {
  std::set<std::string> files;
  const bool named = most(given.entries, [&](const ExportEntry& entry) {
    const auto name = entry.is_folder ? std::nullopt : name_of(entry.name);
    if (name) files.insert(name->file);
    return name.has_value();
  });
  static const std::regex kPrairieLearn(R"(.+_\d+_\d+_\d+_.+)");
  const auto of_other = [](const std::string& file) { return std::regex_match(file, kPrairieLearn); };
  return named && (files.size() == 1 || std::none_of(files.begin(), files.end(), of_other));
}

std::vector<RawAttempt> read(const Export& from, std::vector<std::string>& left_aside) {
  std::map<std::pair<std::string, int>, RawAttempt> attempts;  // by address and version
  for (const ExportEntry& entry : from.entries) {
    const auto name = entry.is_folder ? std::nullopt : name_of(entry.name);
    if (!name) {
      left_aside.push_back(entry.name);
      continue;
    }
    RawAttempt& attempt = attempts[{name->email, name->version}];
    if (attempt.owners.empty()) {
      StudentKeys owner = keyed(name->email);
      owner.email = name->email;
      for (const std::string& reading : name->readings) owner.readings.push_back({reading, ""});
      if (!owner.readings.empty()) owner.readings.push_back({name->email, ""});
      attempt.owners.push_back(owner);
      attempt.origin = entry.name;
      attempt.number = name->version;
    }
    add_file(attempt, entry, name->file);
  }
  std::vector<RawAttempt> list;
  for (auto& [key, attempt] : attempts) list.push_back(std::move(attempt));
  return list;
}

}  // namespace
}  // namespace autolab_layout

const LayoutReader kAutolabLayout{"autolab", autolab_layout::fits, autolab_layout::read};

}  // namespace warpgrade
