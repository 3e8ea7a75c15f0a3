// The one exception of the datasets room: an input that cannot be read, made or written.
//
// Its message names the file, the place in it, what was expected, what was there and what to do next, on one
// line:
//   cora.mtx:17: expected a row index in 1..2708, got "0"; Matrix Market counts from 1: for a 0-based edge
//   list ...
// A caller prints `error: <what()>` and exits 1. It never stands for a student's fault.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace warpgrade::datasets {

// Where in a file a problem was noticed. Text has lines, counted from 1; binary data has byte offsets.
struct Place {
  enum class Unit { kWholeFile, kLine, kByte };
  Unit unit = Unit::kWholeFile;
  std::uint64_t number = 0;

  static Place line(std::uint64_t n) { return {Unit::kLine, n}; }
  static Place byte(std::uint64_t n) { return {Unit::kByte, n}; }
};

class DatasetError : public std::runtime_error {
 public:
  explicit DatasetError(const std::string& message) : std::runtime_error(message) {}

  // "FILE:LINE: expected X, got Y; next"; `next` is a whole instruction.
  static DatasetError at(const std::filesystem::path& file, Place place, const std::string& expected,
                         const std::string& got, const std::string& next);

  // An operating-system call that failed: "FILE: cannot VERB: <strerror(error_number)>; next".
  static DatasetError system(const std::filesystem::path& file, const std::string& verb, int error_number,
                             const std::string& next);
};

}  // namespace warpgrade::datasets
