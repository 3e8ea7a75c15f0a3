#include "judge/labs/declared/answer_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/build_id.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/toolchain.h"
#include "base/untrusted.h"

namespace warpgrade::declared {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kSuffix = ".answer";
constexpr std::size_t kHashDigits = 64;
constexpr std::uint64_t kMostOutputs = 64;

void append(std::string& text, std::span<const std::byte> bytes) {
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void append_number(std::string& text, std::uint64_t number) {
  append(text, std::as_bytes(std::span(&number, 1)));
}

// The number of outputs; of each the bytes of its truth and of its magnitudes, and these bytes.
std::string text_of(const Answer& answer) {
  std::string text;
  append_number(text, answer.outputs());
  for (std::size_t i = 0; i < answer.outputs(); ++i) {
    for (const std::span<const std::byte> cells : {answer.truth(i), answer.magnitudes(i)}) {
      append_number(text, cells.size());
      append(text, cells);
    }
  }
  return text;
}

// Reads from the front of a text; what is not there is empty, and the reader says so.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    const std::span<const std::byte> bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> take(std::uint64_t bytes) {
    if (bytes > rest_.size()) ok_ = false;
    if (!ok_) return {};
    const std::string_view part = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return std::as_bytes(std::span(part));
  }
  bool ended_well() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::optional<Answer> answer_of(std::string_view text) {
  Reader reader(text);
  const std::uint64_t outputs = reader.number();
  if (outputs > kMostOutputs) return std::nullopt;
  Answer answer;
  for (std::uint64_t i = 0; i < outputs; ++i) {
    const std::span<const std::byte> truth = reader.take(reader.number());
    const std::span<const std::byte> magnitudes = reader.take(reader.number());
    answer.add(truth, magnitudes, 1);
  }
  if (!reader.ended_well()) return std::nullopt;
  return answer;
}

// All of the lab's folder that its oracle may read, and the lab's declaration.
void hash_folder(Sha256& hash, const fs::path& folder) {
  std::set<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    const bool counts =
        extension != ".cu" && extension != ".cuh" && extension != ".md" && extension != ".pyc";
    if (counts && entry.is_regular_file()) files.insert(entry.path());
  }
  for (const fs::path& file : files)
    hash.part(file.lexically_relative(folder).string()).part(read_text(file));
}

// Nothing where the judge's own part cannot be told from another build's.
std::optional<std::string> content_of(const declaration::LabDeclaration& lab, const Case& spec,
                                      const JudgeContext& context) {
  const auto judge = build_id("/proc/self/exe");  // it draws the inputs
  if (!judge) return std::nullopt;
  Sha256 hash;
  hash.part("answer-1").part(*judge).part(python_program().value_or("").string());
  hash.part(read_text(project_root() / "grader/judge/labs/declared/oracle_worker.py"));
  hash.part(lab.name);
  hash_folder(hash, lab.folder);
  return hash.part(spec.id).part(json_text(spec)).part(context.run_seed).hex();
}

}  // namespace

std::optional<fs::path> answers_folder() {
  const fs::path folder = cache_directory() / "answers";
  std::error_code none;
  if (fs::create_directories(folder, none)) fs::permissions(folder, fs::perms::owner_all, none);
  struct stat status = {};
  const bool ours = lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                    status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (!ours) return std::nullopt;
  return folder;
}

AnswerFiles::AnswerFiles(std::string content, std::size_t most_bytes)
    : folder_(answers_folder()), content_(std::move(content)), most_bytes_(most_bytes) {}

std::string AnswerFiles::file_name(const std::string& name) const {
  return Sha256().part(content_).part(name).hex().substr(0, 40) + std::string(kSuffix);
}

std::optional<Answer> AnswerFiles::find(const std::string& name) const {
  if (!folder_) return std::nullopt;
  const auto folder = UntrustedFolder::try_open(*folder_);
  if (!folder) return std::nullopt;
  const std::string file = file_name(name);
  const UntrustedFile read = folder->read(file, kHashDigits + kMostOfOne);
  if (!read.ok() || read.bytes.size() < kHashDigits) return std::nullopt;
  const std::string_view all = read.bytes, text = all.substr(kHashDigits);
  if (all.substr(0, kHashDigits) != Sha256().part(file).part(text).hex()) return std::nullopt;
  std::error_code none;
  fs::last_write_time(*folder_ / file, fs::file_time_type::clock::now(), none);  // asked for
  return answer_of(text);
}

void AnswerFiles::add(const std::string& name, const Answer& answer) const {
  if (!folder_ || answer.bytes() > std::min(kMostOfOne / 2, most_bytes_ / 2)) return;
  const std::string file = file_name(name), text = text_of(answer);
  const fs::path made = *folder_ / fmt::format(".{}-{}", getpid(), file);
  std::error_code none;
  try {
    fs::remove(made, none);
    write_scratch(made, Sha256().part(file).part(text).hex() + text, 0600);
    fs::rename(made, *folder_ / file, none);
  } catch (const UsageError&) {
    fs::remove(made, none);
    return;
  }
  give_up_oldest();
}

void AnswerFiles::give_up_oldest() const {
  struct File {
    fs::file_time_type used;
    std::size_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  std::size_t sum = 0;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(*folder_, none)) {
    if (entry.path().extension() != kSuffix) continue;
    std::error_code gone;
    const std::size_t bytes = entry.file_size(gone);
    const fs::file_time_type used = entry.last_write_time(gone);
    if (gone) continue;
    files.push_back({used, bytes, entry.path()});
    sum += bytes;
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (sum <= most_bytes_) return;
    fs::remove(file.path, none);
    sum -= file.bytes;
  }
}

std::optional<AnswerFiles> answer_files(const declaration::LabDeclaration& lab, const Case& spec,
                                        const JudgeContext& context) {
  const bool kept = context.keep_answers && context.backend == "emulator" && lab.check_script.empty() &&
                    spec.set == "public" && spec.kind == "correctness" && spec.drawn;
  if (!kept) return std::nullopt;
  auto content = content_of(lab, spec, context);
  if (!content) return std::nullopt;
  return AnswerFiles(std::move(*content));
}

}  // namespace warpgrade::declared
