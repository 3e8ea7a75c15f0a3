#include "judge/compile/submission.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/untrusted.h"
#include "judge/compile/build_file.h"
#include "judge/compile/source_name.h"
#include "judge/compile/vendor_libraries.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

using Files = std::vector<SubmittedFile>;

bool is_hidden(const std::string& name) {
  return name.starts_with(".");
}

std::string hash_of(const Files& files, const std::vector<std::string>& flags) {
  Sha256 hash;
  for (const SubmittedFile& file : files) {
    hash.part(file.name.string()).part(file.text);
    if (is_source(file.name) && !file.is_compiled) hash.part("included by another");
  }
  for (const std::string& flag : flags) hash.part(flag);
  return hash.hex();
}

// "// Lab, step 2: what it does,\n// and how." at the top of <lab>.cu is "what it does, and how".
std::string idea_of(const Files& files, const std::string& lab) {
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const SubmittedFile& each) { return each.name == lab + ".cu"; });
  if (file == files.end()) return "";
  std::istringstream lines(file->text);
  std::string head;
  for (std::string line; std::getline(lines, line) && line.starts_with("// ");)
    head += (head.empty() ? "" : " ") + line.substr(3);
  const size_t colon = head.find(": ");
  if (colon == std::string::npos) return "";
  head.erase(0, colon + 2);
  const size_t end = head.find(". ");  // one sentence
  if (end != std::string::npos) head.resize(end);
  while (head.ends_with('.')) head.pop_back();
  return head;
}

// All that is read from the folder.
void fill(Submission& submission, const UntrustedFolder& folder, const std::string& lab) {
  TidiedSources tidied = tidied_sources(folder, lab);
  for (const SubmittedFile& file : tidied.files) submission.files.push_back(file.name);
  submission.taken = std::move(tidied.taken);
  submission.notes = std::move(tidied.notes);
  submission.interface = tidied.interface;
  if (submission.role == Role::kStudent && !is_python(submission)) {
    for (std::string& note : notes_on_includes(tidied.files)) submission.notes.push_back(std::move(note));
  }
  submission.problem = tidied.problem;
  if (tidied.manifest.title) submission.title = *tidied.manifest.title;
  submission.flags = std::move(tidied.manifest.flags);
  submission.own_notes = std::move(tidied.manifest.notes);
  if (submission.role == Role::kReference) submission.idea = idea_of(tidied.files, lab);
  submission.hash = hash_of(tidied.files, submission.flags);
}

}  // namespace

const char* to_string(Role role) {
  constexpr std::array<const char*, 3> kNames{"student", "reference", "baseline"};
  return kNames[static_cast<size_t>(role)];
}

std::string safe_submission_id(const std::string& name) {
  std::string id;
  for (char c : name) {
    const bool safe = std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    id += safe ? c : '_';
  }
  if (id != name) id += "-" + sha256(name).substr(0, 6);  // two names must not fall onto one id
  if (id.empty() || id[0] == '.') id = "_" + id;
  return id;
}

bool is_python(const Submission& submission) {
  return submission.interface == submission.lab + ".py";
}

nlohmann::json Submission::to_json() const {
  nlohmann::json json{
      {"id", id}, {"title", title}, {"hash", hash}, {"interface", interface}, {"role", to_string(role)}};
  if (is_python(*this)) json["language"] = "Python";
  if (!notes.empty()) json["notes"] = notes;
  return json;
}

Submission read_submission(const fs::path& folder, const std::string& lab, Role role) {
  if (!fs::is_directory(folder)) {
    throw UsageError(
        "no such submission folder: {}; give the folder that holds {}.cu, for instance student/{}",
        folder.string(), lab, lab);
  }
  Submission submission;
  submission.role = role;
  submission.lab = lab;
  const fs::path named = fs::weakly_canonical(folder);
  const UntrustedFolder given(named);
  const auto inner = given.folder(lab);
  submission.directory = inner ? named / lab : named;
  submission.title = plain_line(named.filename().string());
  submission.id = safe_submission_id(named.filename().string());
  submission.interface = lab + ".h";
  fill(submission, inner ? *inner : given, lab);
  return submission;
}

std::variant<Files, std::string> read_files(const Submission& submission) {
  try {
    TidiedSources tidied = tidied_sources(UntrustedFolder(submission.directory), submission.lab);
    if (hash_of(tidied.files, submission.flags) != submission.hash)
      return tidied.problem.value_or(
          "its files were changed while it was judged; hand in files that stay as they are");
    return std::move(tidied.files);
  } catch (const UsageError&) {
    return "its folder is gone; hand in files that stay as they are";
  }
}

namespace {

// One folder of a class: what is wrong with it costs this submission, never the others.
Submission one_of_class(const fs::path& path, const fs::path& class_folder, const std::string& lab) {
  if (path == class_folder) return read_submission(path, lab, Role::kStudent);
  Submission submission;
  submission.lab = lab;
  submission.title = plain_line(path.filename().string());
  submission.id = safe_submission_id(path.filename().string());
  submission.interface = lab + ".h";
  submission.directory = path;
  try {
    // A link could show the judge what its maker may not read himself.
    if (!fs::is_symlink(path)) return read_submission(path, lab, Role::kStudent);
    submission.problem = fmt::format("{} is a symbolic link; hand in the folder itself", submission.title);
  } catch (const UsageError& error) {
    submission.problem = plain_line(error.what());
  } catch (const fs::filesystem_error& error) {
    submission.problem = fmt::format("{} cannot be read: {}", submission.title, error.code().message());
  }
  return submission;
}

// Folders that hold parts of one program, as courses and build systems name them.
bool is_part_of_project(const fs::path& folder) {
  static const std::set<std::string> kParts{
      "src",     "source", "sources", "include", "inc",     "includes", "header", "headers", "kernel",
      "kernels", "cuda",   "lib",     "libs",    "util",    "utils",    "common", "test",    "tests",
      "data",    "doc",    "docs",    "script",  "scripts", "backup",   "old",    "bin",     "report"};
  std::string name = folder.filename().string();
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return kParts.contains(name) || is_folder_of_others(folder.filename().string());
}

// What lies in the folder itself.
struct FolderLook {
  std::vector<fs::path> folders;
  bool has_sources = false, has_manifest = false;
  std::vector<BuildFile> build_files;
};

FolderLook look_into(const fs::path& folder, const std::string& lab) {
  FolderLook look;
  const UntrustedFolder opened(folder);
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code ignored;  // gone meanwhile
    const fs::path name = entry.path().filename();
    if (is_hidden(name.string())) continue;
    if (entry.is_directory(ignored)) look.folders.push_back(entry.path());
    if (!entry.is_regular_file(ignored)) continue;
    look.has_sources |= may_hold_source(name) || name == lab + ".py";
    look.has_manifest |= name == "submission.yaml";
    if (!is_build_file(name)) continue;
    if (const UntrustedFile text = opened.read(name, kMostBuildFileBytes); text.ok())
      look.build_files.emplace_back(name, text.bytes);
  }
  std::sort(look.folders.begin(), look.folders.end());
  return look;
}

// Whether a build file here names a source in a folder below: then it builds one program of them all.
bool builds_what_is_below(const FolderLook& look, const fs::path& folder) {
  if (look.build_files.empty()) return false;
  std::vector<fs::path> sources;
  for (const UntrustedEntry& entry : UntrustedFolder(folder).list({5000, 6}, is_hidden).entries)
    if (entry.kind == UntrustedEntry::Kind::kFile && is_source(entry.name)) sources.push_back(entry.name);
  return std::any_of(look.build_files.begin(), look.build_files.end(),
                     [&](const BuildFile& file) { return !file.named(sources).empty(); });
}

// Whether the folder is one submission, and not one of students' folders.
bool is_one_submission(const fs::path& folder, const std::string& lab, const FolderLook& look) {
  if (look.has_sources || look.has_manifest || fs::is_directory(folder / lab)) return true;
  std::vector<std::string> parts, others;
  bool has_code = false;
  for (const fs::path& each : look.folders) {
    (is_part_of_project(each) ? parts : others).push_back(plain_line(each.filename().string(), 60));
    const std::string name = each.filename().string();
    has_code |= name == "src" || name == "source" || name == "include" || name == "inc" || name == "kernels";
  }
  if (builds_what_is_below(look, folder)) return true;
  if (parts.empty() || !has_code) return false;
  if (others.empty()) return true;
  throw UsageError(
      "{} can be read in two ways: as one submission (it has {}/), or as a class with one folder a student "
      "({}/). Put a file submission.yaml into it, which may be empty, if it is one submission; move {}/ "
      "elsewhere if it is a class",
      folder.string(), fmt::join(parts, "/, "), fmt::join(others, "/, "), fmt::join(parts, "/, "));
}

}  // namespace

std::vector<Submission> find_submissions(const fs::path& folder, const std::string& lab) {
  if (fs::is_regular_file(folder))
    throw UsageError("{} is a file; give the folder that it lies in: {}", folder.string(),
                     fs::absolute(folder).parent_path().string());
  if (!fs::is_directory(folder)) {
    throw UsageError(
        "no such folder: {}; give the folder that {}.cu lies in, or one whose sub-folders are submissions",
        folder.string(), lab);
  }
  FolderLook look = look_into(folder, lab);
  if (is_one_submission(folder, lab, look)) look.folders = {folder};
  std::vector<Submission> submissions;
  for (const fs::path& path : look.folders) submissions.push_back(one_of_class(path, folder, lab));
  if (submissions.empty()) {
    throw UsageError("{} holds no submission: expected {}.cu in it, or one sub-folder a student with it",
                     folder.string(), lab);
  }
  return submissions;
}

}  // namespace warpgrade
