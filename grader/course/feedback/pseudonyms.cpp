#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "course/feedback/view.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::array kColours{"amber", "azure", "beige", "black", "bronze", "brown",  "copper", "coral",
                              "cream", "cyan",  "gold",  "green", "grey",   "indigo", "ivory",  "jade",
                              "khaki", "lemon", "lilac", "lime",  "mint",   "navy",   "ochre",  "olive",
                              "pearl", "pink",  "plum",  "red",   "ruby",   "silver", "teal",   "white"};
constexpr std::array kAnimals{"badger", "bat",   "bear",   "beetle", "bison",  "crane", "crow",  "deer",
                              "dingo",  "eagle", "ferret", "finch",  "fox",    "gecko", "goose", "heron",
                              "ibex",   "koala", "lemur",  "lynx",   "marten", "moose", "newt",  "orca",
                              "otter",  "owl",   "panda",  "puffin", "raven",  "seal",  "stork", "wolf"};

std::string name_of(const std::string& key, const std::string& submission, int round) {
  const std::string digest = Sha256().part(key).part(submission).part(std::to_string(round)).hex();
  const unsigned long draw = std::stoul(digest.substr(0, 12), nullptr, 16);
  return fmt::format("{}-{}-{}", kColours[draw % 32], kAnimals[draw / 32 % 32], 100 + draw / 1024 % 900);
}

}  // namespace

std::map<std::string, std::string> pseudonyms(const std::string& key, const json& run) {
  std::map<std::string, std::string> names;
  std::set<std::string> taken;
  for (const json& submission : run.at("submissions")) {
    const std::string id = submission.at("id");
    int round = 0;
    while (!taken.insert(names[id] = name_of(key, id, round)).second) ++round;
  }
  return names;
}

std::string pseudonym_key(const fs::path& run) {
  const fs::path file = run / "secret" / "pseudonym_key";
  if (!fs::exists(file)) {
    std::array<unsigned char, 32> bytes = {};
    if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      throw JudgeFault("the system gave no random key");
    }
    make_directories(file.parent_path());
    fs::permissions(file.parent_path(), fs::perms::owner_all);
    std::string digits;
    for (const unsigned char byte : bytes) digits += fmt::format("{:02x}", byte);
    write_new_text(file, digits);
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  }
  return read_text(file);
}

}  // namespace warpgrade
