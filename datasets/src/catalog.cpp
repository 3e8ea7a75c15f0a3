#include "warpgrade/datasets/catalog.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

template <typename T>
T value_or(const YAML::Node& node, const char* key, T fallback) {
  return node[key] ? node[key].as<T>() : fallback;
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
  info.file = value_or<std::string>(node, "file", "");
  info.importer = value_or<std::string>(node, "importer", "");
  if (info.kind == "stand-in") {
    info.powerlaw = PowerlawSpec{static_cast<int>(info.n), info.nnz, node["skew"].as<double>(),
                                 value_or<std::uint64_t>(node, "seed", 1)};
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

// "arxiv@0.01": the same skew and mean degree on a hundredth of the nodes.
DatasetInfo scaled(DatasetInfo info, const std::string& name, const std::string& scale_text) {
  double scale = 0;
  const auto [end, error] = std::from_chars(scale_text.data(), scale_text.data() + scale_text.size(), scale);
  if (error != std::errc() || end != scale_text.data() + scale_text.size() || !(scale > 0 && scale <= 1)) {
    throw DatasetError("'{}': a scale above 0 and up to 1 stands behind @, for instance {}@0.01", name,
                       info.name);
  }
  if (!info.powerlaw) throw DatasetError("'{}': only stand-ins have scales", name);
  info.name = name;
  info.powerlaw->n = std::max(1, static_cast<int>(std::lround(info.powerlaw->n * scale)));
  info.powerlaw->nnz = std::llround(static_cast<double>(info.powerlaw->nnz) * scale);
  const std::int64_t most = static_cast<std::int64_t>(info.powerlaw->n) * info.powerlaw->n;
  info.powerlaw->nnz = std::min(info.powerlaw->nnz, most);
  return info;
}

// Held while one process makes a file that others may want too.
class Lock {
 public:
  explicit Lock(const fs::path& path) : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  ~Lock() {
    if (fd_ >= 0) close(fd_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int fd_;
};

// The cache's file name tells generators' versions apart: a new version makes a new file.
std::string file_name(const DatasetInfo& info) {
  return info.kind == "real" ? info.name + ".npz" : fmt::format("{}.{}.npz", info.name, kGeneratorVersion);
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
    }
  } catch (const YAML::Exception& error) {
    throw DatasetError("{}:{}: {}: {}", file.string(), error.mark.line + 1, entry, error.msg);
  }
  return catalog;
}

DatasetInfo Catalog::find(const std::string& name) const {
  const std::string base = name.substr(0, name.find('@'));
  const DatasetInfo* nearest = nullptr;
  std::size_t least = 4;
  for (const DatasetInfo& info : datasets_) {
    const bool alias = std::find(info.aliases.begin(), info.aliases.end(), base) != info.aliases.end();
    if (info.name == base || alias)
      return base == name ? info : scaled(info, name, name.substr(base.size() + 1));
    if (const std::size_t d = distance(base, info.name); d < least) {
      least = d;
      nearest = &info;
    }
  }
  throw DatasetError("no dataset '{}'{}; `warpgrade data list` names them", name,
                     nearest != nullptr ? fmt::format(" (did you mean {}?)", nearest->name) : "");
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
    if (fs::exists(folder / info.file)) return import_file(folder / info.file, progress);
  }
  throw DatasetError("{} is not on this machine: put {} into a folder and set WARPGRADE_GRAPHS to it",
                     info.name, info.file);
}

fs::path Catalog::ensure(const std::string& name, const fs::path& cache, const Progress& progress) const {
  const DatasetInfo info = find(name);
  const fs::path file = cache / file_name(info);
  if (fs::exists(file)) return file;
  std::error_code error;
  fs::create_directories(cache, error);
  if (error) throw DatasetError("cannot make the folder {}: {}", cache.string(), error.message());
  const Lock lock(cache / ("." + info.name + ".lock"));
  if (fs::exists(file)) return file;
  Origin origin;
  const Csr matrix = obtain(info, origin, progress);
  write_csr(file, matrix, origin);
  return file;
}

}  // namespace warpgrade::datasets
