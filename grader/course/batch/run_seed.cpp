#include "course/batch/run_seed.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <chrono>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/untrusted.h"
#include "judge/labs/declared/answer_files.h"

namespace warpgrade {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kSeedBytes = 32;
constexpr const char* kSeedFile = "seed";

// Nothing where there is none, or it is older than a day.
std::string kept_seed(const fs::path& folder) {
  std::error_code none;
  const auto age = fs::file_time_type::clock::now() - fs::last_write_time(folder / kSeedFile, none);
  if (none || age > std::chrono::hours(24)) return {};
  const auto opened = UntrustedFolder::try_open(folder);
  std::string seed = opened ? opened->read(kSeedFile, 2 * kSeedBytes).bytes : "";
  const bool whole =
      seed.size() == 2 * kSeedBytes && seed.find_first_not_of("0123456789abcdef") == std::string::npos;
  return whole ? seed : "";
}

}  // namespace

std::string hidden_seed() {
  unsigned char bytes[kSeedBytes];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw JudgeFault("the system gave no random seed");
  std::string digits;
  for (unsigned char byte : bytes) digits += fmt::format("{:02x}", byte);
  return digits;
}

std::string seed_of_the_day() {
  const auto folder = declared::answers_folder();
  if (!folder) return hidden_seed();
  if (std::string kept = kept_seed(*folder); !kept.empty()) return kept;
  std::string seed = hidden_seed();
  try {
    write_text(*folder / kSeedFile, seed);
  } catch (const UsageError&) {  // the next run draws another one
  }
  return seed;
}

}  // namespace warpgrade
