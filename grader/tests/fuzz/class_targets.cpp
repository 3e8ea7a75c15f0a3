// What students and learning platforms hand over: hand-ins, archives, exports, tables.
#include "base/text.h"
#include "course/gradebook/import.h"
#include "course/ingest/csv.h"
#include "course/ingest/layout.h"
#include "course/ingest/localized_time.h"
#include "course/ingest/person_name.h"
#include "course/ingest/roster.h"
#include "course/ingest/unpack.h"
#include "judge/compile/submission.h"
#include "support.h"
#include "targets.h"

namespace warpgrade::fuzz {
namespace fs = std::filesystem;
namespace {

void expect_inside(const fs::path& folder, const fs::path& path) {
  const std::string below = path.lexically_normal().lexically_relative(folder.lexically_normal()).string();
  expect(!below.empty() && !below.starts_with(".."), "a path that leads out of the export");
}

}  // namespace

void submission(std::string_view input) {
  const fs::path& folder = folder_of(input);
  for (const char* lab : {"spmm", "vector_add"}) {
    const TidiedSources sources = tidied_sources(UntrustedFolder(folder), lab);
    for (const std::string& note : sources.notes) expect(valid_utf8(note) == note, "a note that is no UTF-8");
    if (sources.problem)
      expect(valid_utf8(*sources.problem) == *sources.problem, "a problem that is no UTF-8");
    const Submission read = read_submission(folder, lab, Role::kStudent);
    read.to_json().dump();
    if (!read.problem) expect(read_files(read).index() == 0, "sources that cannot be read again");
  }
  reads([&] { find_submissions(folder, "spmm"); });
}

void archive(std::string_view input) {
  const fs::path file = only_file(input, "hand-in.zip");
  const UnpackLimits limits{50, 1 << 20, 100};
  const fs::path& folder = empty_folder();
  if (const auto refusal = unpack(file, folder, limits)) expect_readable(refusal->message);
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    expect(entry.is_directory() || (entry.is_regular_file() && !entry.is_symlink()), "no file and no folder");
    if (!entry.is_directory()) bytes += entry.file_size();
  }
  expect(bytes <= limits.bytes + 65536, "more bytes than the limit");
  const fs::path& again = empty_folder();
  unpack(file, again, limits, [](const Refusal& refusal) { expect_readable(refusal.message); });
}

void class_export(std::string_view input) {
  const fs::path& folder = folder_of(input);
  Roster roster;
  if (fs::is_regular_file(folder / "roster.csv"))
    reads([&] { roster = Roster::read(folder / "roster.csv", TimeZone::named("Europe/Berlin")); });
  static const std::vector<std::string> names{"auto",   "folder",     "gradescope",  "canvas",
                                              "moodle", "blackboard", "brightspace", "sakai",
                                              "ilias",  "autolab",    "prairielearn"};
  for (const std::string& name : names) {
    reads([&] {
      Roster own = roster;
      LayoutOptions options{
          .name = name, .lab = "spmm", .zone = TimeZone::named("Europe/Berlin"), .roster = &own};
      for (const RawAttempt& attempt : read_layout(folder, options).attempts) {
        for (const StudentKeys& owner : attempt.owners) own.find_or_add(owner);
        if (!attempt.folder.empty()) expect_inside(folder, attempt.folder);
        for (const RawFile& file : attempt.files) expect_inside(folder, file.path);
      }
    });
  }
}

void class_table(std::string_view input) {
  const fs::path file = only_file(input, "table.csv");
  const TimeZone zone = TimeZone::named("Europe/Berlin");
  reads([&] {
    const Roster roster = Roster::read(file, zone);
    for (const Student& student : roster.students()) {
      const nlohmann::json json = student.to_json();
      json.dump();
      expect(Student::from_json(json).to_json() == json, "a student who changes when read back");
    }
  });
  const std::vector<KnownStudent> students{{.id = "ada", .email = "ada@x.org"}, {.id = "bo"}};
  for (const char* format : {"canvas", "moodle", "blackboard", "brightspace", "sakai", "prairielearn-csv"})
    reads([&] { read_grades(file, format, "spmm", std::nullopt, 100, students); });
  reads([&] {
    const CsvTable table = read_csv(file);
    for (const CsvTable::Row& row : table.rows) {
      expect(row.cells.size() == table.header.size(), "a row of another length");
      for (const std::string& cell : row.cells) {
        parse_time(cell, zone);
        parse_localized_time(cell, zone);
        name_keys(cell);
      }
    }
  });
}

}  // namespace warpgrade::fuzz
