// `warpgrade data fetch NAME`: a published graph from where it is published.
#include <fmt/chrono.h>
#include <fmt/core.h>

#include <ctime>
#include <memory>

#include "commands.h"
#include "digest.h"
#include "download.h"
#include "import_and_store.h"
#include "terminal.h"
#include "warpgrade/datasets/cache.h"
#include "warpgrade/datasets/catalog.h"
#include "warpgrade/datasets/pins.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

struct FetchArguments {
  std::vector<std::string> names;
  fs::path lock;
  bool keep = false, again = false, repin = false;
};

void check_pin(const Pin& before, const PinnedFile& now, const PinFile& pins, const fs::path& file) {
  for (const PinnedFile& pinned : before.files) {
    if (pinned.url != now.url || pinned.sha256 == now.sha256) continue;
    throw DatasetError(
        "{}: expected sha256 {}... ({} bytes) as pinned on {} in {}, got {}... ({} bytes): the published "
        "file "
        "has changed. It is kept as {}; look at it, then say --repin to take it",
        now.url, pinned.sha256.substr(0, 12), pinned.bytes, before.pinned, pins.path().string(),
        now.sha256.substr(0, 12), now.bytes, file.string());
  }
}

struct Fetched {
  std::vector<fs::path> files;
  Pin pin;
};

Fetched get_files(const DatasetInfo& info, const fs::path& folder, const PinFile& pins, bool repin) {
  const auto before = pins.find(info.name);
  Fetched fetched;
  for (const std::string& url : info.original->urls) {
    const Download download = datasets::download(url, folder, terminal_progress(info.name));
    if (download.resumed_at > 0 && download.resumed_at < download.bytes)
      fmt::print("note: went on from byte {}\n", grouped(static_cast<std::int64_t>(download.resumed_at)));
    const PinnedFile now{url, sha256_of_file(download.file), download.bytes};
    if (before && !repin) check_pin(*before, now, pins, download.file);
    fetched.files.push_back(download.file);
    fetched.pin.files.push_back(now);
  }
  return fetched;
}

bool is_there(const Cache& cache, const std::string& name) {
  const fs::path file = cache.find(name);
  if (!file.empty()) fmt::print("{}: already there; --again fetches it anew\n", file.string());
  return !file.empty();
}

void fetch_one(const DataCommandContext& context, const std::string& name, const FetchArguments& arguments) {
  const Catalog catalog = Catalog::load(context.catalog_file);
  DatasetInfo info = catalog.find(name);
  if (info.kind == "stand-in" && name.find('@') == std::string::npos) info = catalog.find(name + "@original");
  if (info.powerlaw || info.standin)
    throw DatasetError("{} is generated; `warpgrade data fetch {}` gets the published graph", info.name,
                       name.substr(0, name.find('@')));
  if (!info.original)
    throw DatasetError("{} has no published original; `warpgrade data info {}` makes it", info.name, name);
  if (info.original->urls.empty())
    throw DatasetError("{} cannot be fetched: {} ({}), then `warpgrade data import FILE --name {}`",
                       info.name, info.original->by_hand, info.original->page, info.name);
  const Cache cache(context.cache_directory);
  const bool anew = arguments.again || arguments.repin;
  if (!anew && is_there(cache, info.name)) return;
  const FileLock lock = cache.lock("fetch-" + info.name);
  if (!anew && is_there(cache, info.name)) return;  // another job was getting it
  PinFile pins(pin_file(context, arguments.lock));
  const fs::path folder = cache.downloads() / info.name;
  Fetched fetched = get_files(info, folder, pins, arguments.repin);
  ImportReport report;
  const Csr matrix =
      import_file(fetched.files[0], info.original->options, &report, terminal_progress(info.name));
  print_report(report);
  check_published(info, matrix);
  const Origin origin{info.name, "fetch " + info.original->urls[0], ""};
  fetched.pin.content = content_hash_of(matrix, origin);
  const auto before = pins.find(info.name);
  if (before && !arguments.repin && before->content != fetched.pin.content) {
    throw DatasetError(
        "{}: the file is the pinned one, but the matrix hashes to {}..., not to {}... as pinned in {}: "
        "the importer has changed; say --repin to take it",
        info.name, fetched.pin.content.substr(0, 12), before->content.substr(0, 12), pins.path().string());
  }
  const fs::path file = cache.put(info.name, matrix, origin);
  if (!before || arguments.repin) {
    fetched.pin.pinned = today();
    pins.set(info.name, fetched.pin);
    fmt::print("pinned in {}\n", pins.path().string());
  }
  std::error_code error;
  if (!arguments.keep) fs::remove_all(folder, error);
  fmt::print("{}: {} x {}, {} entries, hash {}\n", file.string(), matrix.rows, matrix.cols, matrix.nnz(),
             fetched.pin.content);
}

}  // namespace

fs::path pin_file(const DataCommandContext& context, const fs::path& asked) {
  if (!asked.empty()) return asked;
  const fs::path beside = context.catalog_file.parent_path() / "datasets.lock";
  return fs::exists(beside) ? beside : context.cache_directory / "datasets.lock";
}

std::string today() {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
}

void add_data_fetch(CLI::App& data, DataCommandContext& context) {
  const auto arguments = std::make_shared<FetchArguments>();
  CLI::App* command = data.add_subcommand(
      "fetch",
      "get published graphs, check their counts, pin their hashes; goes on where it was interrupted");
  command->add_option("names", arguments->names, "datasets; of a stand-in, its original")->required();
  command->add_option("--lock", arguments->lock,
                      "the file of pins; default: datasets.lock beside the catalogue, else in the cache");
  command->add_flag("--keep", arguments->keep, "keep the downloaded files in the cache");
  command->add_flag("--again", arguments->again, "even if it is in the cache");
  command->add_flag("--repin", arguments->repin, "take a file that has changed since it was pinned");
  command->callback([&context, arguments] {
    for (const std::string& name : arguments->names) fetch_one(context, name, *arguments);
  });
}

}  // namespace warpgrade::datasets
