// Which importer reads a file: by content and suffix; archives and folders by what lies in them.
#include "warpgrade/datasets/import.h"

#include <algorithm>
#include <array>
#include <new>

#include "container.h"
#include "importers.h"
#include "line_reader.h"
#include "text_numbers.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

// Options that not every importer has.
enum : unsigned { kMirror = 1, kIds = 2, kKeepDuplicates = 4, kIgnoreCounts = 8 };
constexpr unsigned kEveryOption = kMirror | kIds | kKeepDuplicates | kIgnoreCounts;

struct FormatName {
  Format format;
  const char* name;
  Csr (*read)(const ImportJob&);
  unsigned options;
};

constexpr FormatName kFormats[] = {
    {Format::kMatrixMarket, "matrix-market", import_matrix_market, 0},
    {Format::kEdgeList, "edge-list", import_edge_list, kEveryOption},
    {Format::kContest, "contest", import_contest, kEveryOption},
    {Format::kContestBinary, "contest-binary", import_contest_binary, kMirror | kKeepDuplicates},
    {Format::kDimacs, "dimacs", import_dimacs, kMirror | kKeepDuplicates},
    {Format::kNpz, "npz", import_npz, kKeepDuplicates},  // those without a choice keep them
    {Format::kOgb, "ogb", import_ogb, kMirror | kKeepDuplicates | kIgnoreCounts},
    {Format::kBvGraph, "bvgraph", import_bv_graph, kKeepDuplicates},
    {Format::kCourse, "course", import_course, kKeepDuplicates},
};

// An option that would change nothing is refused: whoever gave it would believe that it did.
void check_options(const FormatName& format, const ImportOptions& options, const std::string& file) {
  const auto refuse = [&](unsigned option, bool given, const char* name, const char* instead) {
    if (given && !(format.options & option))
      throw DatasetError("{}: {} does nothing for {}: {}", file, name, format.name, instead);
  };
  refuse(kMirror, options.mirror != Mirror::kNo, "--mirror", "entries are read as they stand there");
  refuse(kIds, options.ids != Ids::kAuto, "--ids", "its layout says where ids begin");
  refuse(kKeepDuplicates, options.keep_duplicates, "--keep-duplicates", "repeated entries are added up");
  refuse(kIgnoreCounts, options.ignore_counts, "--ignore-counts", "its counts are part of the layout");
}

// What the importers that copy rows as they stand leave to be counted, or dropped, in the result.
void tidy_diagonal(Csr& matrix, const ImportOptions& options, ImportReport& report) {
  report.self_edges_dropped = options.drop_self_edges;
  if (report.self_edges > 0 || matrix.rows != matrix.cols) return;
  std::size_t kept = 0;
  int begin = 0;
  for (int row = 0; row < matrix.rows; ++row) {
    const int end = matrix.row_offsets[row + 1];
    for (int i = begin; i < end; ++i) {
      const bool diagonal = matrix.columns[i] == row;
      report.self_edges += diagonal ? 1 : 0;
      if (diagonal && options.drop_self_edges) continue;
      if (kept != static_cast<std::size_t>(i)) {
        matrix.columns[kept] = matrix.columns[i];
        matrix.values[kept] = matrix.values[i];
      }
      ++kept;
    }
    begin = end;
    matrix.row_offsets[row + 1] = static_cast<int>(kept);
  }
  matrix.columns.resize(kept);
  matrix.values.resize(kept);
}

// Rows are sorted: what repeats stands side by side.
std::int64_t repeated_entries(const Csr& matrix) {
  std::int64_t repeated = 0;
  for (int row = 0; row < matrix.rows; ++row) {
    for (int i = matrix.row_offsets[row] + 1; i < matrix.row_offsets[row + 1]; ++i)
      repeated += matrix.columns[i] == matrix.columns[i - 1] ? 1 : 0;
  }
  return repeated;
}

bool exists_beside(const fs::path& path, const char* suffix) {
  fs::path sibling = path;
  return fs::exists(sibling.replace_extension(suffix));
}

std::string first_text(const Source& source) {
  LineReader reader(source, {});
  for (std::string_view line; reader.next(line);) {
    if (!only_blanks(line)) return std::string(line.substr(0, 100));
  }
  return "";
}

Format format_of_source(const Source& source) {
  const fs::path path = source.member.empty() ? source.path : fs::path(source.member);
  const std::string name = lower(path.filename().string());
  const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
  if (ends(".npz")) return Format::kNpz;
  if (name == "edge.csv.gz") return Format::kOgb;
  if (ends(".gr") || ends(".gr.gz")) return Format::kDimacs;
  if (ends(".mtx") || ends(".mtx.gz")) return Format::kMatrixMarket;
  if (source.member.empty()) {
    if (ends(".config") || ends(".ptrdump") || ends(".edgedump")) return Format::kCourse;
    if (ends(".properties")) return Format::kBvGraph;
    if (ends(".graph")) return exists_beside(path, ".properties") ? Format::kBvGraph : Format::kCourse;
  }
  const std::string first = lower(first_text(source));
  if (first.starts_with("%%matrixmarket")) return Format::kMatrixMarket;
  return Format::kEdgeList;
}

// Of an archive: the named member, OGB's edge list, DGL's or GraphSAINT's graph, SuiteSparse's NAME/NAME.mtx,
// or the only file that looks like a graph.
std::string choose_member(const fs::path& path, const std::string& wanted) {
  const auto members = list_container(path);
  std::vector<std::string> likely;
  for (const ContainerMember& member : members) {
    const fs::path name = member.name;
    if (member.name == wanted) return wanted;
    if (!wanted.empty()) {
      if (name.filename() == wanted) likely.push_back(member.name);
      continue;
    }
    const std::string base = lower(name.filename().string());
    if (base == "edge.csv.gz" || base == "adj_full.npz" || base.ends_with("_graph.npz")) return member.name;
    if (base.ends_with(".mtx") && name.stem() == name.parent_path().filename()) return member.name;
    if (base.find("readme") != std::string::npos) continue;
    for (const char* suffix : {".mtx", ".mtx.gz", ".txt", ".txt.gz", ".csv", ".csv.gz", ".tsv", ".el",
                               ".edges", ".gr", ".gr.gz"}) {
      if (!base.ends_with(suffix)) continue;
      likely.push_back(member.name);
      break;
    }
  }
  if (likely.size() == 1) return likely.front();
  if (members.empty())
    throw DatasetError("{}: it holds no file; expected an archive with a graph in it", path.string());
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(members.size(), 8); ++i)
    names += (i == 0 ? "" : ", ") + members[i].name;
  throw DatasetError("{}: {}; it holds {}{}; name one of them with --member NAME", path.string(),
                     wanted.empty() ? fmt::format("{} members look like a graph", likely.size())
                                    : "there is no member " + wanted,
                     names, members.size() > 8 ? ", ..." : "");
}

Source find_source(const fs::path& path, const ImportOptions& options) {
  if (fs::is_directory(path)) {
    for (const char* place : {"raw/edge.csv.gz", "edge.csv.gz"}) {
      if (fs::exists(path / place)) return {path / place, ""};
    }
    throw DatasetError("{} is a folder without raw/edge.csv.gz (OGB's layout); give a file", path.string());
  }
  const bool npz = lower(path.string()).ends_with(".npz");
  if (options.format == Format::kNpz || options.format == Format::kContestBinary) {
    return {path, options.member.empty() ? "" : choose_member(path, options.member)};
  }
  if (!npz && (is_zip(path) || is_tar(path))) return {path, choose_member(path, options.member)};
  if (!options.member.empty())
    throw DatasetError("{}: no archive, so it has no member {}", path.string(), options.member);
  return {path, ""};
}

}  // namespace

Format format_of(const std::string& name) {
  if (name == "auto") return Format::kAuto;
  for (const FormatName& format : kFormats) {
    if (name == format.name) return format.format;
  }
  std::string known = "auto";
  for (const std::string& word : format_names()) known += ", " + word;
  throw DatasetError("no format '{}'; {} are read", name, known);
}

std::string to_string(Format format) {
  for (const FormatName& known : kFormats) {
    if (known.format == format) return known.name;
  }
  return "auto";
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const FormatName& format : kFormats) names.emplace_back(format.name);
  return names;
}

Mirror mirror_of(const std::string& name) {
  if (name == "no") return Mirror::kNo;
  if (name == "once") return Mirror::kOnce;
  if (name == "twice") return Mirror::kTwice;
  throw DatasetError("mirror is no, once or twice, not '{}'", name);
}

Ids ids_of(const std::string& name) {
  if (name == "auto") return Ids::kAuto;
  if (name == "zero") return Ids::kFromZero;
  if (name == "one") return Ids::kFromOne;
  if (name == "compact") return Ids::kCompact;
  throw DatasetError("ids is auto, zero, one or compact, not '{}'", name);
}

bool fits_file(std::int64_t nodes, const Source& source) {
  constexpr std::int64_t kAlways = 1 << 22, kNodesPerByte = 64;
  return nodes <= kAlways || nodes / kNodesPerByte <= static_cast<std::int64_t>(source.file_bytes());
}

Progress half_of(const Progress& progress, int half) {
  if (!progress) return {};
  return [progress, half](std::uint64_t done, std::uint64_t total) {
    progress(done + (half == 1 ? total : 0), 2 * total);
  };
}

Csr import_file(const fs::path& path, const ImportOptions& options, ImportReport* report,
                const Progress& progress) {
  std::error_code error;
  if (!fs::exists(path, error)) throw DatasetError("no such file: {}", path.string());
  ImportReport unused;
  if (report == nullptr) report = &unused;
  *report = {};
  try {
    ImportJob job{find_source(path, options), options, report, progress};
    report->format = options.format == Format::kAuto ? format_of_source(job.source) : options.format;
    for (const FormatName& format : kFormats) {
      if (format.format != report->format) continue;
      check_options(format, options, job.source.name());
      Csr matrix = format.read(job);
      tidy_diagonal(matrix, options, *report);
      report->kept_duplicates = repeated_entries(matrix);
      return matrix;
    }
  } catch (const std::bad_alloc&) {
    throw DatasetError("{}: this machine has not enough memory for it", path.string());
  } catch (const std::length_error&) {
    throw DatasetError("{}: this machine has not enough memory for it", path.string());
  }
  throw DatasetError("{}: no importer", path.string());
}

Csr import_file(const fs::path& path, const Progress& progress) {
  return import_file(path, {}, nullptr, progress);
}

}  // namespace warpgrade::datasets
