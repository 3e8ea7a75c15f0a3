// `warpgrade data verify`: every file of the cache against its hash, its structure, the published counts, its
// pin.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "commands.h"
#include "terminal.h"
#include "warpgrade/datasets/cache.h"
#include "warpgrade/datasets/catalog.h"
#include "warpgrade/datasets/pins.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

struct Arguments {
  std::vector<std::string> names;
  bool remove = false;
};

// "arxiv@0.01.powerlaw-1" to what the catalogue calls it; empty for names that it does not know.
std::optional<DatasetInfo> entry_of(const Catalog& catalog, const std::string& name) {
  for (const DatasetInfo& known : catalog.all()) {
    for (const std::string& variant : {known.name, known.name + "@original"}) {
      if (name == variant && (known.kind == "real" || variant != known.name)) return catalog.find(variant);
    }
    if (name == Catalog::cache_name(known)) return known;
  }
  return std::nullopt;
}

void check(const CacheEntry& entry, const Catalog& catalog, const PinFile& pins) {
  const CsrFile file = CsrFile::open_verified(entry.file);
  if (!entry.content.empty() && file.content_hash() != entry.content)
    throw DatasetError("{}: its content hashes to {}..., its name says otherwise", entry.file.string(),
                       file.content_hash().substr(0, 12));
  for (const std::string& name : entry.names) {
    const auto info = entry_of(catalog, name);
    if (info && info->n > 0 && (file.rows() != info->n || (info->nnz > 0 && file.nnz() != info->nnz))) {
      throw DatasetError("{}: expected {} nodes and {} entries, got {} and {}", name, info->n, info->nnz,
                         file.rows(), file.nnz());
    }
    const auto pin = pins.find(name);
    if (pin && pin->content != file.content_hash())
      throw DatasetError("{}: {} pins the content {}..., got {}...", name, pins.path().string(),
                         pin->content.substr(0, 12), file.content_hash().substr(0, 12));
  }
}

bool wanted(const CacheEntry& entry, const Arguments& arguments) {
  if (arguments.names.empty()) return true;
  return std::any_of(entry.names.begin(), entry.names.end(), [&](const std::string& name) {
    return std::any_of(arguments.names.begin(), arguments.names.end(), [&](const std::string& asked) {
      return name == asked || name.starts_with(asked + ".");
    });
  });
}

void verify(const DataCommandContext& context, Arguments arguments) {
  const Catalog catalog = Catalog::load(context.catalog_file);
  for (std::string& name : arguments.names) {
    try {
      name = Catalog::cache_name(catalog.find(name));  // aliases
    } catch (const DatasetError&) {
      // A name of `data import` alone.
    }
  }
  const Cache cache(context.cache_directory);
  const PinFile pins(context.cache_directory / "datasets.lock");
  std::size_t good = 0, bad = 0;
  for (const CacheEntry& entry : cache.entries()) {
    if (!wanted(entry, arguments)) continue;
    std::string name = entry.names.empty() ? "(no name) " + entry.content.substr(0, 12) : entry.names.front();
    try {
      check(entry, catalog, pins);
      ++good;
      fmt::print("ok       {}\n", name);
    } catch (const DatasetError& error) {
      ++bad;
      fmt::print("DAMAGED  {}: {}\n", name, error.what());
      if (!arguments.remove) continue;
      std::error_code ignored;
      for (const std::string& link : entry.names) fs::remove(cache.path_of(link), ignored);
      fs::remove(entry.file, ignored);
      fmt::print("removed  {}\n", name);
    }
  }
  if (good + bad == 0 && !arguments.names.empty())
    throw DatasetError("{} is not in the cache {}", arguments.names.front(), cache.root().string());
  fmt::print("{} good, {} damaged in {}\n", good, bad, cache.root().string());
  if (bad > 0 && !arguments.remove)
    throw DatasetError(
        "{} damaged; `warpgrade data verify --remove` deletes what is, it is made again when asked for", bad);
}

}  // namespace

void add_data_verify(CLI::App& data, DataCommandContext& context) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = data.add_subcommand("verify", "check cached datasets: hash, structure, counts, pins");
  command->add_option("names", arguments->names, "datasets; default: all that are in the cache");
  command->add_flag("--remove", arguments->remove, "delete what is damaged");
  command->callback([&context, arguments] { verify(context, *arguments); });
}

}  // namespace warpgrade::datasets
