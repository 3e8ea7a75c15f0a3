#include "judge/compile/submission.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "judge/compile/manifest.h"
#include "judge/compile/older_interface.h"
#include "judge/compile/source_name.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxFiles = 200;
constexpr size_t kMaxBytes = 4 << 20;

bool is_hidden(const std::string& name) {
  return name.starts_with(".");
}

std::string too_much() {
  return fmt::format("more than {} source files or {} MiB", kMaxFiles, kMaxBytes >> 20);
}

// What is wrong with an entry that would take part in the compilation.
std::optional<std::string> entry_problem(const UntrustedEntry& entry) {
  const std::string name = plain_line(entry.name.string());
  if (entry.kind == UntrustedEntry::Kind::kUnreadable)
    return describe(UntrustedState::kUnreadable, entry.name, kMaxBytes);
  if (!is_source(entry.name) && !is_header(entry.name)) return std::nullopt;
  if (entry.kind == UntrustedEntry::Kind::kLink)
    return describe(UntrustedState::kLink, entry.name, kMaxBytes);
  if (entry.kind == UntrustedEntry::Kind::kOther)
    return describe(UntrustedState::kNotRegular, entry.name, kMaxBytes);
  if (entry.kind != UntrustedEntry::Kind::kFile) return std::nullopt;
  if (const auto bad = source_name_problem(entry.name))
    return fmt::format("{}: {}; {}", name, bad->what, bad->next_step);
  return std::nullopt;
}

void collect_files(const UntrustedFolder& folder, Submission& submission) {
  const ListingLimits limits;
  const UntrustedListing listing = folder.list(limits, is_hidden);
  std::uint64_t bytes = 0;
  for (const UntrustedEntry& entry : listing.entries) {
    if (is_hidden(entry.name.filename().string())) continue;
    if (const auto problem = entry_problem(entry)) {
      submission.problem = problem;
      return;
    }
    if (entry.kind != UntrustedEntry::Kind::kFile || (!is_source(entry.name) && !is_header(entry.name)))
      continue;
    bytes += entry.bytes;
    if (submission.files.size() == kMaxFiles || bytes > kMaxBytes) {
      submission.problem = too_much();
      return;
    }
    submission.files.push_back(entry.name);
  }
  if (listing.too_many)
    submission.problem =
        fmt::format("more than {} files and folders; hand in the sources only", limits.entries);
  if (listing.too_deep)
    submission.problem =
        fmt::format("folders more than {} levels deep; hand in the sources only", limits.depth);
}

using Files = std::vector<SubmittedFile>;

std::variant<Files, std::string> read_all(const UntrustedFolder& folder, const std::vector<fs::path>& names) {
  Files files;
  std::uint64_t left = kMaxBytes;
  for (const fs::path& name : names) {
    UntrustedFile file = folder.read(name, left);
    if (file.state == UntrustedState::kTooLarge) return too_much();  // it has grown since it was listed
    if (!file.ok()) return describe(file.state, name, kMaxBytes);
    left -= file.bytes.size();
    files.push_back({name, std::move(file.bytes)});
  }
  return files;
}

std::string hash_of(const Files& files, const std::vector<std::string>& flags) {
  Sha256 hash;
  for (const SubmittedFile& file : files) hash.part(file.name.string()).part(file.text);
  for (const std::string& flag : flags) hash.part(flag);
  return hash.hex();
}

// What the files are written to; those of a course's own harness leave the submission.
void choose_interface_of(Submission& submission, Files& files, const std::string& lab) {
  std::vector<SourceText> texts;
  for (const SubmittedFile& file : files) texts.push_back({file.name, file.text});
  InterfaceChoice choice = choose_interface(texts, lab);
  submission.interface = std::move(choice.interface);
  for (const fs::path& name : choice.left_out) {
    std::erase(submission.files, name);
    std::erase_if(files, [&](const SubmittedFile& file) { return file.name == name; });
  }
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
  collect_files(folder, submission);
  const bool any_source = std::any_of(submission.files.begin(), submission.files.end(), is_source);
  if (!submission.problem && !any_source) submission.problem = "no source file (.cu, .cpp) was handed in";
  Manifest manifest = read_manifest(folder);
  if (manifest.title) submission.title = *manifest.title;
  submission.flags = std::move(manifest.flags);
  if (!submission.problem) submission.problem = manifest.problem;
  auto read = read_all(folder, submission.files);
  if (auto* why = std::get_if<std::string>(&read)) {
    if (!submission.problem) submission.problem = *why;
    read = Files{};
  }
  Files& files = std::get<Files>(read);
  choose_interface_of(submission, files, lab);
  if (submission.role == Role::kReference) submission.idea = idea_of(files, lab);
  submission.hash = hash_of(files, submission.flags);
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

nlohmann::json Submission::to_json() const {
  return {{"id", id}, {"title", title}, {"hash", hash}, {"interface", interface}, {"role", to_string(role)}};
}

Submission read_submission(const fs::path& folder, const std::string& lab, Role role) {
  if (!fs::is_directory(folder)) {
    throw UsageError(
        "no such submission folder: {}; give the folder that holds {}.cu, for instance student/{}",
        folder.string(), lab, lab);
  }
  Submission submission;
  submission.role = role;
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
    auto files = read_all(UntrustedFolder(submission.directory), submission.files);
    if (std::holds_alternative<Files>(files) &&
        hash_of(std::get<Files>(files), submission.flags) != submission.hash)
      return "its files were changed while it was judged; hand in files that stay as they are";
    return files;
  } catch (const UsageError&) {
    return "its folder is gone; hand in files that stay as they are";
  }
}

namespace {

// One folder of a class: what is wrong with it costs this submission, never the others.
Submission one_of_class(const fs::path& path, const fs::path& class_folder, const std::string& lab) {
  if (path == class_folder) return read_submission(path, lab, Role::kStudent);
  Submission submission;
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
  std::vector<Submission> submissions;
  std::vector<fs::path> folders;
  bool sources_here = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code ignored;  // gone meanwhile
    if (entry.is_directory(ignored) && !is_hidden(entry.path().filename().string()))
      folders.push_back(entry.path());
    sources_here |= entry.is_regular_file(ignored) && is_source(entry.path());
  }
  if (sources_here || fs::is_directory(folder / lab)) folders = {folder};
  std::sort(folders.begin(), folders.end());
  for (const fs::path& path : folders) submissions.push_back(one_of_class(path, folder, lab));
  if (submissions.empty()) {
    throw UsageError("{} holds no submission: expected {}.cu in it, or one sub-folder a student with it",
                     folder.string(), lab);
  }
  return submissions;
}

}  // namespace warpgrade
