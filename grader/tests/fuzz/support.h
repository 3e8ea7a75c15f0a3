// What targets share: a folder for files, failing, and exceptions that may be thrown.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace warpgrade::fuzz {

// Ends the process with the words where `holds` is false: libFuzzer keeps the input.
void expect(bool holds, const std::string& what);

// An empty folder in memory, the same in each call.
const std::filesystem::path& empty_folder();
// One file with these bytes, in a folder of its own.
std::filesystem::path only_file(std::string_view bytes, const std::string& name);
// A folder of the files in `input`: "==== NAME" on a line of its own begins each. Names that lead out of the
// folder and folders of git's are left out.
const std::filesystem::path& folder_of(std::string_view input);

// Calls `read`, which may throw UsageError or one of `Documented` and nothing else. Its words are one
// to read.
void expect_readable(const std::string& message);
template <class... Documented>
struct Catching {
  static void call(const auto& read) { read(); }
};
// One handler a type, and none for others: they end the process where they are thrown, with that stack.
template <class First, class... Rest>
struct Catching<First, Rest...> {
  static void call(const auto& read) {
    try {
      Catching<Rest...>::call(read);
    } catch (const First& error) {
      expect_readable(error.what());
    }
  }
};
template <class... Documented>
void reads(const auto& read) {
  Catching<UsageError, Documented...>::call(read);
}

}  // namespace warpgrade::fuzz
