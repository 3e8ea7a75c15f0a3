#include "compile/submission.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "compile/older_interface.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxFiles = 200;
constexpr size_t kMaxBytes = 4 << 20;

bool is_source(const fs::path& path) {
  static const std::set<std::string> kSources{".cu", ".cpp", ".cc", ".cxx", ".c"};
  return kSources.contains(path.extension().string());
}

bool is_header(const fs::path& path) {
  static const std::set<std::string> kHeaders{".h", ".hpp", ".hxx", ".cuh", ".inl", ".inc"};
  return kHeaders.contains(path.extension().string());
}

// Flags that a submission may ask for: they change how its own code is compiled, nothing else.
bool is_allowed_flag(const std::string& flag) {
  static const std::set<std::string> kFlags{
      "--use_fast_math", "-use_fast_math", "--extra-device-vectorization", "-O0", "-O1", "-O2", "-O3", "-G"};
  return kFlags.contains(flag) || flag.starts_with("-maxrregcount=") || flag.starts_with("--maxrregcount=") ||
         (flag.starts_with("-D") && flag.find_first_of(" ;&|$`\"'\\") == std::string::npos);
}

void collect_files(Submission& submission) {
  size_t bytes = 0;
  for (auto it = fs::recursive_directory_iterator(submission.directory);
       it != fs::recursive_directory_iterator(); ++it) {
    const fs::path relative = it->path().lexically_relative(submission.directory);
    if (it->path().filename().string().starts_with(".")) {
      if (it->is_directory()) it.disable_recursion_pending();
      continue;
    }
    if (it->is_symlink()) {
      if (is_source(relative) || is_header(relative)) {
        submission.problem = fmt::format("{} is a symbolic link; hand in the file itself", relative.string());
        return;
      }
      continue;
    }
    if (!it->is_regular_file() || (!is_source(relative) && !is_header(relative))) continue;
    submission.files.push_back(relative);
    bytes += it->file_size();
    if (submission.files.size() > kMaxFiles || bytes > kMaxBytes) {
      submission.problem = fmt::format("more than {} source files or {} MiB", kMaxFiles, kMaxBytes >> 20);
      return;
    }
  }
  std::sort(submission.files.begin(), submission.files.end());
}

void read_manifest(Submission& submission) {
  const fs::path manifest = submission.directory / "submission.yaml";
  if (!fs::exists(manifest)) return;
  try {
    const YAML::Node node = YAML::LoadFile(manifest.string());
    if (node["title"]) submission.title = node["title"].as<std::string>();
    if (!node["flags"]) return;
    for (const YAML::Node& flag : node["flags"]) {
      const std::string text = flag.as<std::string>();
      if (!is_allowed_flag(text)) {
        submission.problem =
            fmt::format("submission.yaml asks for the compiler flag {}, which is not allowed", text);
        return;
      }
      submission.flags.push_back(text);
    }
  } catch (const YAML::Exception& error) {
    submission.problem = fmt::format("submission.yaml can't be read: {}", error.what());
  }
}

// What the files are written to; those of a course's own harness leave the submission.
void choose_interface_of(Submission& submission, const std::string& lab) {
  std::vector<SourceText> texts;
  for (const fs::path& file : submission.files)
    texts.push_back({file, read_text(submission.directory / file)});
  InterfaceChoice choice = choose_interface(texts, lab);
  submission.interface = std::move(choice.interface);
  for (const fs::path& file : choice.left_out) std::erase(submission.files, file);
}

// "// Lab, step 2: what it does,\n// and how." at the top of <lab>.cu is "what it does, and how".
std::string idea_of(const Submission& submission, const std::string& lab) {
  const fs::path file = submission.directory / (lab + ".cu");
  if (!fs::exists(file)) return "";
  std::istringstream lines(read_text(file));
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
  if (!fs::is_directory(folder)) throw UsageError("no such submission folder: {}", folder.string());
  Submission submission;
  submission.role = role;
  fs::path named = fs::weakly_canonical(folder);
  submission.directory = fs::is_directory(named / lab) ? named / lab : named;
  submission.title = named.filename().string();
  submission.id = safe_submission_id(submission.title);
  collect_files(submission);
  const bool any_source = std::any_of(submission.files.begin(), submission.files.end(), is_source);
  if (!submission.problem && !any_source) submission.problem = "no source file (.cu, .cpp) was handed in";
  read_manifest(submission);
  choose_interface_of(submission, lab);
  if (role == Role::kReference) submission.idea = idea_of(submission, lab);
  Sha256 hash;
  for (const fs::path& file : submission.files) {
    hash.part(file.string()).part(read_text(submission.directory / file));
  }
  for (const std::string& flag : submission.flags) hash.part(flag);
  submission.hash = hash.hex();
  return submission;
}

std::vector<Submission> find_submissions(const fs::path& folder, const std::string& lab) {
  if (fs::is_regular_file(folder))
    throw UsageError("{} is a file; give the folder that it lies in: {}", folder.string(),
                     fs::absolute(folder).parent_path().string());
  if (!fs::is_directory(folder)) {
    throw UsageError("no such folder: {}; give the folder whose sub-folders are the submissions",
                     folder.string());
  }
  std::vector<Submission> submissions;
  std::vector<fs::path> folders;
  bool sources_here = false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && !entry.path().filename().string().starts_with("."))
      folders.push_back(entry.path());
    sources_here |= entry.is_regular_file() && is_source(entry.path());
  }
  if (sources_here || fs::is_directory(folder / lab)) folders = {folder};
  std::sort(folders.begin(), folders.end());
  for (const fs::path& path : folders) submissions.push_back(read_submission(path, lab, Role::kStudent));
  if (submissions.empty()) {
    throw UsageError("{} holds no submission: expected {}.cu in it, or one sub-folder a student with it",
                     folder.string(), lab);
  }
  return submissions;
}

}  // namespace warpgrade
