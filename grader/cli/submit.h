// `warpgrade submit FOLDER --lab LAB`: packs a submission for handing in, once it compiles.
#pragma once

#include <filesystem>
#include <string>

namespace warpgrade {

struct SubmitOptions {
  std::filesystem::path submission;
  std::string lab = "spmm";
  std::filesystem::path output;  // empty: <lab>-submission.tar.gz here
  bool force = false;            // pack what does not compile, too
};

int submit(const SubmitOptions& options);

}  // namespace warpgrade
