#include "warpgrade/datasets/catalog.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "catalog_facts.h"
#include "digest.h"
#include "warpgrade/datasets/cache.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

template <typename T>
T value_or(const YAML::Node& node, const char* key, T fallback) {
  return node[key] ? node[key].as<T>() : fallback;
}

Original read_original(const YAML::Node& node) {
  Original original;
  if (const YAML::Node url = node["url"]) {
    original.urls =
        url.IsSequence() ? url.as<std::vector<std::string>>() : std::vector{url.as<std::string>()};
  }
  original.page = value_or<std::string>(node, "page", "");
  original.licence = value_or<std::string>(node, "licence", "");
  original.by_hand = value_or<std::string>(node, "by_hand", "");
  original.nnz = value_or<std::int64_t>(node, "nnz", 0);
  original.options.format = format_of(value_or<std::string>(node, "format", "auto"));
  original.options.member = value_or<std::string>(node, "member", "");
  original.options.mirror = mirror_of(value_or<std::string>(node, "mirror", "no"));
  original.options.ids = ids_of(value_or<std::string>(node, "ids", "auto"));
  original.options.ignore_counts = value_or(node, "ignore_counts", false);
  return original;
}

DatasetInfo read_entry(const std::string& name, const YAML::Node& node) {
  DatasetInfo info;
  info.name = name;
  info.kind = node["kind"].as<std::string>();
  info.aliases = value_or(node, "aliases", std::vector<std::string>{});
  info.source = value_or<std::string>(node, "source", "");
  info.licence = value_or<std::string>(node, "licence", "");
  info.exercises = value_or<std::string>(node, "exercises", "");
  info.n = value_or<std::int64_t>(node, "n", 0);
  info.nnz = value_or<std::int64_t>(node, "nnz", 0);
  info.direction = value_or<std::string>(node, "direction", "");
  info.features = value_or<std::string>(node, "features", "");
  info.note = value_or<std::string>(node, "note", "");
  if (node["original"]) info.original = read_original(node["original"]);
  if (info.licence.empty() && info.original) info.licence = info.original->licence;
  info.file = value_or<std::string>(node, "file", "");
  info.sha256 = value_or<std::string>(node, "sha256", "");
  info.importer = value_or<std::string>(node, "importer", "");
  if (info.kind == "stand-in") {
    info.powerlaw = PowerlawSpec{static_cast<int>(info.n), info.nnz, node["skew"].as<double>(),
                                 value_or<std::uint64_t>(node, "seed", 1)};
  }
  if (const YAML::Node standin = node["standin"]) {
    StandInOutline outline{static_cast<int>(info.n),     info.nnz, standin["max_degree"].as<std::int64_t>(),
                           standin["tail"].as<double>(), {},       value_or<std::uint64_t>(node, "seed", 1)};
    const YAML::Node community = standin["community"];
    outline.communities = {{community["log2_nodes"].as<int>(),
                            static_cast<int>(std::lround(community["share"].as<double>() * kWholeShare))}};
    outline.max_column_degree = value_or<std::int64_t>(standin, "max_column_degree", 0);
    outline.column_tail = value_or(standin, "column_tail", outline.column_tail);
    info.outline = outline;
    info.assumed = value_or(standin, "assumed", std::vector<std::string>{});
  }
  if (const YAML::Node shape = node["shape"]) {
    info.shape = ShapeSpec{shape.as<std::string>(),      node["rows"].as<int>(),
                           node["cols"].as<int>(),       value_or(node, "mean", 8.0),
                           value_or(node, "longest", 0), value_or<std::uint64_t>(node, "seed", 1)};
  }
  return info;
}

// Levenshtein's distance, for "did you mean".
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t next =
          std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = row[j];
      row[j] = next;
    }
  }
  return row.back();
}

// The scale behind an @.
double scale_of(const DatasetInfo& info, const std::string& name, const std::string& text) {
  double scale = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  if (error != std::errc() || end != text.data() + text.size() || !(scale > 0 && scale <= 1)) {
    throw DatasetError("'{}': a scale above 0 and up to 1 stands behind @, for instance {}@0.01", name,
                       info.name);
  }
  return scale;
}

// The mean degree kept on a share of the nodes, as far as n * n entries allow.
void scale(int& n, std::int64_t& nnz, double by) {
  n = std::max(1, static_cast<int>(std::lround(n * by)));
  nnz = std::min(std::llround(static_cast<double>(nnz) * by), static_cast<long long>(n) * n);
}

// "arxiv@0.01": the same skew and mean degree on a hundredth of the nodes.
DatasetInfo scaled(DatasetInfo info, const std::string& name, const std::string& scale_text) {
  const double by = scale_of(info, name, scale_text);
  if (!info.powerlaw) {
    throw DatasetError("'{}': only stand-ins have scales{}", name,
                       info.outline ? fmt::format(", as {}@v2@{} is one", info.name, scale_text) : "");
  }
  info.name = name;
  scale(info.powerlaw->n, info.powerlaw->nnz, by);
  return info;
}

// "arxiv@v2": the stand-in with locality; "arxiv@v2@0.01" a hundredth of it. "arxiv" alone stays the power
// law that published records were made on, and "web-Stanford" alone the graph itself.
DatasetInfo second_generation_of(DatasetInfo info, const std::string& variant) {
  if (!info.outline)
    throw DatasetError(
        "'{}@{}': the catalogue has no second generation of {}{}", info.name, variant, info.name,
        info.kind == "real" ? fmt::format("; `warpgrade data synth --like {}` fits a stand-in", info.name)
                            : "");
  const std::string name = info.name + "@" + variant;
  int n = info.outline->n;
  std::int64_t nnz = info.outline->nnz;
  if (variant != "v2") scale(n, nnz, scale_of(info, name, variant.substr(3)));
  info.name = name;
  info.kind = "stand-in";
  info.standin = spec_of(*info.outline, n, nnz);
  info.powerlaw.reset();
  return info;
}

// What to do for a graph that is not here.
std::string how_to_get(const DatasetInfo& info) {
  std::string ways;
  if (!info.file.empty())
    ways = fmt::format("put {} into a folder and set WARPGRADE_GRAPHS to it", info.file);
  if (!info.original) return ways;
  if (!ways.empty()) ways += ", or ";
  if (!info.original->urls.empty())
    ways += fmt::format("`warpgrade data fetch {}` gets it from {}", info.name, info.original->urls[0]);
  else
    ways += fmt::format("{} ({}), then `warpgrade data import FILE --name {}`", info.original->by_hand,
                        info.original->page, info.name);
  if (info.outline && info.name.find('@') == std::string::npos)
    ways += fmt::format("; {}@v2 is a stand-in for it", info.name);
  return ways;
}

// "arxiv@original": the published graph itself.
DatasetInfo original_of(DatasetInfo info, const std::string& name) {
  if (info.kind == "real") return info;
  if (!info.original) throw DatasetError("'{}': {} is made here, it has no original", name, info.name);
  info.name += "@original";
  info.kind = "real";
  if (info.original->nnz > 0) info.nnz = info.original->nnz;
  info.powerlaw.reset();
  return info;
}

}  // namespace

Catalog Catalog::load(const fs::path& file) {
  Catalog catalog;
  catalog.file_ = file;
  if (!fs::exists(file)) throw DatasetError("no catalogue of datasets at {}", file.string());
  std::string entry = "datasets";
  try {
    const YAML::Node root = YAML::LoadFile(file.string());
    for (const auto& item : root["datasets"]) {
      entry = item.first.as<std::string>();
      catalog.datasets_.push_back(read_entry(entry, item.second));
      read_facts(item.second, root["sources"], catalog.datasets_.back());
    }
  } catch (const YAML::Exception& error) {
    throw DatasetError("{}:{}: {}: {}", file.string(), error.mark.line + 1, entry, error.msg);
  }
  return catalog;
}

DatasetInfo Catalog::find(const std::string& name) const {
  const std::string base = name.substr(0, name.find('@'));
  const std::string variant = base == name ? "" : name.substr(base.size() + 1);
  const DatasetInfo* nearest = nullptr;
  std::size_t least = std::min<std::size_t>(3, (base.size() + 1) / 3) + 1;  // a letter in three may be wrong
  for (const DatasetInfo& info : datasets_) {
    std::vector<std::string> names = info.aliases;
    names.push_back(info.name);
    for (const std::string& known : names) {
      if (known == base) {
        if (base == name) return info;
        if (variant == "v2" || variant.starts_with("v2@")) return second_generation_of(info, variant);
        return variant == "original" ? original_of(info, name)
                                     : scaled(info, info.name + "@" + variant, variant);
      }
      if (const std::size_t d = distance(base, known); d < least) {
        least = d;
        nearest = &info;
      }
    }
  }
  throw DatasetError("no dataset '{}'{}; `warpgrade data list` names them", name,
                     nearest != nullptr ? fmt::format(" (did you mean {}?)", nearest->name) : "");
}

bool Catalog::contains(const std::string& name) const {
  const std::string base = name.substr(0, name.find('@'));
  return std::any_of(datasets_.begin(), datasets_.end(), [&](const DatasetInfo& info) {
    return info.name == base ||
           std::find(info.aliases.begin(), info.aliases.end(), base) != info.aliases.end();
  });
}

std::vector<fs::path> Catalog::graph_folders() const {
  std::vector<fs::path> folders;
  if (const char* folder = std::getenv("WARPGRADE_GRAPHS"); folder != nullptr && *folder != '\0')
    folders.emplace_back(folder);
  const fs::path room = fs::absolute(file_).lexically_normal().parent_path();
  folders.push_back(room / "graphs");
  folders.push_back(room.parent_path().parent_path() / "shared/graphs");
  return folders;
}

Csr Catalog::obtain(const DatasetInfo& info, Origin& origin, const Progress& progress) const {
  origin.name = info.name;
  if (info.standin) {
    origin = {info.name, "stand-in for " + info.source, kStandInVersion};
    return generate_standin(*info.standin);
  }
  if (info.powerlaw) {
    origin = {info.name, "stand-in for " + info.source, kGeneratorVersion};
    return generate_powerlaw(*info.powerlaw);
  }
  if (info.shape) {
    origin = {info.name, "synthetic", kGeneratorVersion};
    return generate_shape(*info.shape);
  }
  origin.source = info.source;
  if (info.importer == "wordnet") return import_wordnet();
  if (info.importer == "debian-packages") return import_debian_packages();
  for (const fs::path& folder : graph_folders()) {
    const fs::path file = folder / info.file;
    if (info.file.empty() || !fs::exists(file)) continue;
    const std::string hash = info.sha256.empty() ? "" : sha256_of_file(file);
    if (hash != info.sha256) {
      throw DatasetError(
          "{}: expected the file that the catalogue knows as {} (sha256 {}...), got another ({}...); import "
          "it under a name of its own with `warpgrade data import`",
          file.string(), info.name, info.sha256.substr(0, 12), hash.substr(0, 12));
    }
    Csr matrix = import_file(file, progress);
    check_published(info, matrix);
    return matrix;
  }
  throw DatasetError("{} is not on this machine: {}", info.name, how_to_get(info));
}

std::string Catalog::cache_name(const DatasetInfo& info) {
  if (info.kind == "real") return info.name;
  return info.name + "." + (info.standin ? kStandInVersion : kGeneratorVersion);
}

fs::path Catalog::ensure(const std::string& name, const fs::path& cache_folder,
                         const Progress& progress) const {
  const DatasetInfo info = find(name);
  const Cache cache(cache_folder);
  const std::string key = cache_name(info);
  if (const fs::path file = cache.find(key); !file.empty()) return file;
  const FileLock lock = cache.lock(key);
  if (const fs::path file = cache.find(key); !file.empty()) return file;
  Origin origin;
  const Csr matrix = obtain(info, origin, progress);
  return cache.put(key, matrix, origin);
}

void check_published(const DatasetInfo& info, const Csr& matrix) {
  const bool fits = (info.n == 0 || (matrix.rows == info.n && matrix.cols == info.n)) &&
                    (info.nnz == 0 || matrix.nnz() == info.nnz);
  if (fits) return;
  throw DatasetError("{}: expected {} nodes and {} entries as published, got {} x {} and {}", info.name,
                     info.n, info.nnz, matrix.rows, matrix.cols, matrix.nnz());
}

}  // namespace warpgrade::datasets
