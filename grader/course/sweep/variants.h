// The variants of a parameter sweep: one submission compiled with every combination of values.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace warpgrade {

// A macro that the sources read, and the values that are tried.
struct SweepParameter {
  std::string name;                 // "SPMM_SPLIT_SIZE"
  std::vector<std::string> values;  // "32", "64"
};

struct SweepVariant {
  std::vector<std::pair<std::string, std::string>> settings;  // a value for each parameter
  std::string title() const;                                  // "SPMM_SPLIT_SIZE=32 SPMM_D=1"
  std::string id() const;                                     // the same, safe as a file name
};

// "NAME=1,2,4". Throws UsageError saying what is wrong with the text.
SweepParameter parse_parameter(const std::string& text);

// Every combination, the last parameter changing fastest. Throws UsageError for a name that is given twice
// and for more than `most` combinations.
std::vector<SweepVariant> combine(const std::vector<SweepParameter>& parameters, size_t most);

// Copies the submission once a variant into `destination`, as a class folder with the settings as compiler
// flags. Throws UsageError when a parameter's name appears in none of the sources: it would change nothing.
void write_variants(const std::filesystem::path& submission, const std::string& lab,
                    const std::vector<SweepVariant>& variants, const std::filesystem::path& destination);

}  // namespace warpgrade
