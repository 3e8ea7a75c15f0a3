// The one place where datasets have names: datasets/catalog.yaml. `ensure` turns a name into a file of
// the cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "warpgrade/datasets/csr_file.h"
#include "warpgrade/datasets/generate.h"
#include "warpgrade/datasets/import.h"
#include "warpgrade/datasets/standin.h"

namespace warpgrade::datasets {

// Where a published graph is, and how its file becomes a matrix.
struct Original {
  std::vector<std::string> urls;  // the first is imported, the rest belong beside it; empty: see by_hand
  std::string page, licence;
  std::string by_hand;   // what a person has to do where nothing can be fetched
  std::int64_t nnz = 0;  // of the published file, where the stand-in's differs from it; else 0
  ImportOptions options;
};

struct DatasetInfo {
  std::string name;
  std::vector<std::string> aliases;
  std::string kind;  // real, stand-in, synthetic
  std::string source, licence, exercises;
  std::string direction;        // directed, undirected
  std::string features;         // of nodes and edges, which the room does not import
  std::int64_t n = 0, nnz = 0;  // as published; 0: not known beforehand
  std::string note;             // what a reader of the counts should know

  // Facts that a catalogue states of a published graph: n and nnz, where it is, its licence, and what its
  // stand-in is calibrated to.
  static constexpr const char* kFacts[] = {"counts", "url", "licence", "max_degree", "clustering"};
  std::map<std::string, std::vector<std::string>> checked;  // where a fact was looked up
  std::vector<std::string> unconfirmed;                     // facts written from memory
  std::vector<std::string> assumed;                         // what NAME@v2 has that nobody published
  std::string file, sha256;               // real: a file of the graphs' folder, and its hash
  std::string importer;                   // real: wordnet, debian-packages
  std::optional<PowerlawSpec> powerlaw;   // stand-in
  std::optional<StandInOutline> outline;  // published: what NAME@v2 is made from
  std::optional<StandInSpec> standin;     // NAME@v2 itself
  std::optional<ShapeSpec> shape;         // synthetic
  std::optional<Original> original;       // published: stand-ins have one as well, named NAME@original
};

class Catalog {
 public:
  // Throws DatasetError naming file and entry.
  static Catalog load(const std::filesystem::path& file);

  const std::vector<DatasetInfo>& all() const { return datasets_; }

  // Whether there is a dataset of that name or alias, whatever stands behind an '@'.
  bool contains(const std::string& name) const;

  // By name or alias; `name@0.01` is a stand-in at that scale, `name@original` the graph that it stands for.
  // Throws DatasetError with near matches.
  DatasetInfo find(const std::string& name) const;

  // The dataset as a file of the cache, made when absent: imported from the folder of graphs
  // (WARPGRADE_GRAPHS, else ../shared/graphs or datasets/graphs beside the catalogue), taken from a Debian
  // package, or generated. Safe when several processes ask at once. Throws DatasetError when the source is
  // not on this machine.
  std::filesystem::path ensure(const std::string& name, const std::filesystem::path& cache,
                               const Progress& progress = {}) const;

  // The dataset's name in the cache: tells generators' versions apart, so that a new version makes a
  // new file.
  static std::string cache_name(const DatasetInfo& info);

  // Where files of real graphs are looked for.
  std::vector<std::filesystem::path> graph_folders() const;

 private:
  Csr obtain(const DatasetInfo& info, Origin& origin, const Progress& progress) const;

  std::filesystem::path file_;
  std::vector<DatasetInfo> datasets_;
};

// Throws DatasetError when the matrix has other counts than published.
void check_published(const DatasetInfo& info, const Csr& matrix);

}  // namespace warpgrade::datasets
