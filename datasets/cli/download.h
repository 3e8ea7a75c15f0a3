// Files over HTTP, resumed where they broke off.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::datasets {

struct Download {
  std::filesystem::path file;
  std::uint64_t bytes = 0;
  std::uint64_t resumed_at = 0;  // bytes that an earlier attempt had left
};

// Into `folder`, under the URL's last part; beside it lies NAME.part until it is whole. An interrupted
// download goes on where it was if the server's file is still the same (ETag or Last-Modified, checked with
// If-Range), and begins anew otherwise. Broken connections and 5xx answers are tried five times. Of two
// processes that get the same file one waits. Throws DatasetError with the URL and what the server said.
Download download(const std::string& url, const std::filesystem::path& folder, const Progress& progress);

// False where the program was built without libcurl: then download throws and says so.
bool can_download();

}  // namespace warpgrade::datasets
