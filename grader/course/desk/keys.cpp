#include "course/desk/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/toolchain.h"
#include "base/untrusted.h"
#include "course/desk/config.h"
#include "course/ingest/roster.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostKeyBytes = 64 << 10;

// Kinds that OpenSSH takes today. DSA and certificates are not among them.
constexpr std::array kKinds{"ssh-ed25519",
                            "ssh-rsa",
                            "ecdsa-sha2-nistp256",
                            "ecdsa-sha2-nistp384",
                            "ecdsa-sha2-nistp521",
                            "sk-ssh-ed25519@openssh.com",
                            "sk-ecdsa-sha2-nistp256@openssh.com"};

bool is_base64(const std::string& text) {
  return text.size() >= 40 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c < 128 && std::isalnum(c) != 0) || c == '+' || c == '/' || c == '=';
         });
}

// "ssh-ed25519 AAAA..." without options and comment; empty: it is none. Options in front of a key, which
// could allow what `restrict` forbids, make it none.
std::string bare_key(const std::string& line) {
  std::istringstream words(line);
  std::string kind, key;
  words >> kind >> key;
  const bool known = std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
  return known && is_base64(key) ? kind + " " + key : "";
}

struct OfferedKey {
  std::string student, line, place;
};

std::vector<OfferedKey> read_lines(const std::string& text, const std::string& file,
                                   const std::string& student) {
  std::vector<OfferedKey> offered;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    line.erase(0, begin);
    OfferedKey key{student, line, fmt::format("{}:{}", file, number)};
    if (student.empty()) {
      const std::size_t end = line.find_first_of(" \t");
      key.student = line.substr(0, end);
      key.line = end == std::string::npos ? "" : line.substr(end + 1);
    }
    offered.push_back(std::move(key));
  }
  return offered;
}

// Students' own files: opened as what came from outside.
std::vector<OfferedKey> read_keys(const fs::path& keys) {
  if (!fs::is_directory(keys)) return read_lines(read_text(keys), keys.string(), "");
  std::vector<OfferedKey> offered;
  const UntrustedFolder folder(keys);
  for (const UntrustedEntry& entry : folder.list().entries) {
    if (entry.kind != UntrustedEntry::Kind::kFile || entry.name.extension() != ".pub" ||
        entry.name.has_parent_path())
      continue;
    const UntrustedFile file = folder.read(entry.name, kMostKeyBytes);
    if (!file.ok()) continue;
    for (OfferedKey& key : read_lines(file.bytes, entry.name.string(), entry.name.stem().string()))
      offered.push_back(std::move(key));
  }
  return offered;
}

}  // namespace

AuthorizedKeys make_authorized_keys(const fs::path& desk, const fs::path& roster, const fs::path& keys) {
  std::set<std::string> known;
  const Roster listed = Roster::read(roster);
  for (const Student& student : listed.students()) {
    if (!is_plain_id(student.id))
      throw UsageError(
          "{}: student '{}': an id in authorized_keys consists of letters, digits and . _ @ + -, 64 at most",
          roster.string(), student.id);
    known.insert(student.id);
  }
  const std::string program = (program_directory() / "warpgrade").string();
  const std::string folder = fs::absolute(desk).lexically_normal().string();
  for (const std::string& path : {program, folder})
    if (path.find_first_of("\"\\'$`\n ") != std::string::npos)
      throw UsageError(
          "{}: a path in authorized_keys cannot have a space, a quote, $ or a backslash; move it", path);
  AuthorizedKeys made;
  std::map<std::string, std::string> owners;  // by key
  std::set<std::string> with_key;
  for (const OfferedKey& offered : read_keys(keys)) {
    const auto refuse = [&](const std::string& why) { made.refused.push_back(offered.place + ": " + why); };
    const std::string key = bare_key(offered.line);
    if (!known.contains(offered.student)) {
      refuse(fmt::format("the roster has no student '{}'", offered.student));
    } else if (key.empty()) {
      refuse("this is not a public key of OpenSSH; `cat ~/.ssh/id_ed25519.pub` shows one");
    } else if (const auto [owner, fresh] = owners.emplace(key, offered.student);
               !fresh && owner->second != offered.student) {
      refuse(fmt::format("{} has the same key: each student needs a separate key", owner->second));
    } else if (fresh) {
      made.text += fmt::format("restrict,command=\"{} desk --folder {} --student {}\" {} {}\n", program,
                               folder, offered.student, key, offered.student);
      with_key.insert(offered.student);
    }
  }
  for (const std::string& student : known)
    (with_key.contains(student) ? made.students : made.without).push_back(student);
  return made;
}

}  // namespace warpgrade::desk
