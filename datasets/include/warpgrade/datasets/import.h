// Importers: files of other programs to CSR. Every error names the file and the line or byte, what was
// expected and what stands there; what was repaired is in the report.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::datasets {

enum class Format {
  kAuto,           // by content and suffix; an archive's by its members
  kMatrixMarket,   // .mtx
  kEdgeList,       // "from to [weight]" a line, # and % comments
  kContest,        // the same behind a head "nodes edges"
  kContestBinary,  // int32: nodes, edges, then (from, to, weight) an edge
  kDimacs,         // .gr of the 9th challenge
  kNpz,            // SciPy: CSR, COO, CSC
  kOgb,            // raw/edge.csv.gz with num-node-list.csv.gz, a folder or a .zip
  kBvGraph,        // WebGraph: .graph beside .properties
  kCourse,         // .config beside .graph (text), or .graph.ptrdump beside .graph.edgedump (int32)
};

// "matrix-market", "edge-list", ... Throws DatasetError for another word.
Format format_of(const std::string& name);
std::string to_string(Format format);
std::vector<std::string> format_names();

// How a list of edges becomes a matrix.
enum class Mirror {
  kNo,     // as it stands
  kOnce,   // (to, from) as well; a self edge once
  kTwice,  // (to, from) as well, self edges too: what OGB calls inverse edges
};
enum class Ids {
  kAuto,  // as the file's own counts say (# Nodes: N); from 0 where it says nothing
  kFromZero,
  kFromOne,
  kCompact,  // any numbers: renumbered in ascending order
};

// "no", "once", "twice"; "auto", "zero", "one", "compact". Throw DatasetError for another word.
Mirror mirror_of(const std::string& name);
Ids ids_of(const std::string& name);

struct ImportOptions {
  Format format = Format::kAuto;
  std::string member;  // of an archive; empty: the one that looks like a graph
  Mirror mirror = Mirror::kNo;
  Ids ids = Ids::kAuto;
  bool keep_duplicates = false;  // of lists of edges and DIMACS; OGB keeps them, Matrix Market adds them up
  bool drop_self_edges = false;
  bool ignore_counts = false;  // go on where a comment's counts and the lines disagree
};

struct ImportReport {
  Format format = Format::kAuto;
  std::int64_t lines = 0;                            // entries as they stand in the file
  std::int64_t duplicates = 0, kept_duplicates = 0;  // dropped or added up; still there
  std::int64_t self_edges = 0;                       // of square matrices
  bool self_edges_dropped = false;
  std::vector<std::string> notes;  // what was repaired or chosen, for people
};

// The file, archive or folder as a matrix, in memory of about the result's size. `report` may be null.
// Throws DatasetError, also for an option that the format does not have.
Csr import_file(const std::filesystem::path& path, const ImportOptions& options, ImportReport* report,
                const Progress& progress = {});
Csr import_file(const std::filesystem::path& path, const Progress& progress = {});

// Graphs that any Debian machine has. Throw DatasetError with the package to install.
Csr import_wordnet(const std::filesystem::path& folder = "/usr/share/wordnet");
Csr import_debian_packages(const std::filesystem::path& lists = "/var/lib/apt/lists");

}  // namespace warpgrade::datasets
