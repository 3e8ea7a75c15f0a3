// Whether a file of ncu's (.ncu-rep) may be handed out: it holds no name of the host, no path of the host's
// and nothing of this process's environment. It is made in a box that shows none of them, so this finds a
// box that failed.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace warpgrade::hardware {

struct HostFacts {
  std::vector<std::string> names;                  // of the host, short and long
  std::vector<std::string> folders;                // "/home": those at the top that no box shows
  std::map<std::string, std::string> environment;  // of this process
};
HostFacts host_facts();

// What of the facts `bytes` hold, in words that do not repeat it ("the host's name", "the value of HOME");
// "": nothing. Bytes may be text as UTF-8 or UTF-16.
std::string what_it_tells(const std::string& bytes, const HostFacts& facts);

}  // namespace warpgrade::hardware
