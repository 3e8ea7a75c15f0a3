// Small helpers around the files of a control group.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace warpgrade {

// The whole file; empty where it can't be read.
std::string cgroup_text(const std::filesystem::path& file);

// Words between `separator`s and line ends.
std::vector<std::string> cgroup_words(const std::string& text, char separator = ' ');

// The number behind `key` in lines of "key number"; 0 where there is none.
std::size_t cgroup_number(const std::string& text, const std::string& key);

// The file to which a process writes "0" when it joins. To move a whole process takes a lock over all forks
// of the machine, which costs a grace period of 5 to 15 ms. A child between fork and exec has one thread, and
// version 1 moves a single thread without that lock. (Version 2 does not, but a process can be born inside.)
const char* cgroup_door(int version);

// 0, or the errno of the write.
int write_cgroup(const std::filesystem::path& file, const std::string& word);

// Tells all members to end, whichever version the folder is of, and lets frozen ones go so that they can.
void kill_cgroup_members(const std::filesystem::path& folder) noexcept;

// Removes the folder as soon as it is empty, killing its members until then; false: they outlived the limit.
bool remove_cgroup(const std::filesystem::path& folder, std::chrono::milliseconds limit) noexcept;

}  // namespace warpgrade
