// The catalogue (catalog.yaml) and the cache of ready-made .npz files.
//
// ensure() is all that most callers need: a name goes in, the path of a complete file in the working format
// comes out. It is safe to call from many processes at once: one makes the file, the others wait for it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "warpgrade/datasets/csr_file.h"
#include "warpgrade/datasets/generate.h"
#include "warpgrade/datasets/progress.h"

namespace warpgrade::datasets {

enum class DatasetKind { kReal, kStandIn, kSynthetic };
std::string_view to_string(DatasetKind kind);  // "real", "stand-in", "synthetic"

struct ImportRecipe {
  std::string file;  // relative to a graphs folder
  bool symmetrize = false;
  bool compact_ids = false;
};
struct DebianRecipe {
  enum class Graph { kWordnet, kPackages };
  Graph graph = Graph::kWordnet;
};
using Recipe = std::variant<ImportRecipe, DebianRecipe, StandInSpec, SyntheticSpec>;

struct DatasetEntry {
  std::string name;
  std::vector<std::string> aliases;
  DatasetKind kind = DatasetKind::kReal;
  std::string source;
  std::string licence;
  std::string exercises;             // what a kernel meets here
  std::optional<std::int32_t> rows;  // absent where the content depends on the machine
  std::optional<std::int32_t> cols;
  std::optional<std::int64_t> nnz;
  std::optional<std::string> content_hash;  // absent where it may vary
  Recipe recipe;
};

struct EnsureOptions {
  ProgressFn progress;
  int threads = 0;       // for generators; 0: one per hardware thread
  bool refresh = false;  // make the file anew even when the cache has it
};

class Catalog {
 public:
  static Catalog load(const std::filesystem::path& yaml_file);

  const std::vector<DatasetEntry>& entries() const { return entries_; }
  const std::filesystem::path& path() const { return path_; }

  // By name or alias, letter case ignored; "arxiv@0.01" is a stand-in scaled down. Throws, with near matches.
  DatasetEntry find(std::string_view name) const;

  // The dataset's file in the cache, imported or generated when it is absent, or was made by another recipe.
  // Only its structure is checked here; CsrFile::open checks the hash.
  std::filesystem::path ensure(std::string_view name, const std::filesystem::path& cache_dir,
                               const EnsureOptions& options = {}) const;
  std::filesystem::path ensure(std::string_view name, const std::filesystem::path& cache_dir,
                               const ProgressFn& progress) const {
    return ensure(name, cache_dir, EnsureOptions{progress, 0, false});
  }

  // The path that ensure() would return, whether or not the file exists.
  static std::filesystem::path cached_path(const DatasetEntry& entry, const std::filesystem::path& cache_dir);

  // Where graph files are looked for: WARPGRADE_GRAPHS if set, else ../shared/graphs beside the repository
  // and graphs/ beside the catalogue.
  std::vector<std::filesystem::path> graph_directories() const;

 private:
  std::filesystem::path path_;
  std::vector<DatasetEntry> entries_;
};

// WARPGRADE_CACHE if set, else `fallback` (a program passes <repository>/.cache/datasets).
std::filesystem::path cache_directory(const std::filesystem::path& fallback);

}  // namespace warpgrade::datasets
