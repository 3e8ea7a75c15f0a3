// The files that carry grades out of an export: what courseware imports, and a file for each student.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/exported_class.h"

namespace warpgrade {

class GradeFiles {
 public:
  // Whose files could not be made, with the reason; the others' are not held up by them.
  using Troubles = std::map<std::string, std::string>;

  // `whole`: of the whole class, so that nothing of an earlier export stays.
  GradeFiles(const ExportedClass& students, std::filesystem::path output, bool whole)
      : students_(students), output_(std::move(output)), whole_(whole) {}

  // `source_root`: where a repository has the sources, for remarks at their lines.
  void write(const std::set<std::string>& formats, const std::string& lab, const std::string& column,
             const std::string& source_root);

  // Fills a copy of the worksheet; returns what to tell of it.
  std::string write_worksheet(const std::filesystem::path& worksheet,
                              const std::optional<std::string>& column);

  static std::string table_name(const std::string& format);

  const std::map<std::string, std::filesystem::path>& written() const { return written_; }
  const std::map<std::string, std::vector<std::string>>& left_out() const { return left_out_; }
  const Troubles& troubles() const { return troubles_; }
  // What courseware imports has no place to say what it was made from: it is known by its contents.
  const nlohmann::json& hashes_of_tables() const { return hashes_; }

 private:
  void write_each(const std::string& format, const std::string& ending,
                  const std::function<std::string(const nlohmann::json&)>& text_of);
  void write_code_hosts(const std::set<std::string>& formats, const std::string& source_root);
  void write_tables(const std::set<std::string>& formats, const std::string& column);
  void write_ilias(const std::string& lab);

  const ExportedClass& students_;
  const std::filesystem::path output_;
  const bool whole_;
  std::map<std::string, std::filesystem::path> written_;
  std::map<std::string, std::vector<std::string>> left_out_;  // ids of students, by format
  Troubles troubles_;
  nlohmann::json hashes_ = nlohmann::json::object();
};

}  // namespace warpgrade
