// `warpgrade data verify`: every file of the cache against its hash, its structure, the published counts,
// its pin.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>

#include "commands.h"
#include "import_and_store.h"
#include "warpgrade/datasets/cache.h"
#include "warpgrade/datasets/catalog.h"
#include "warpgrade/datasets/pins.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

struct VerifyArguments {
  std::vector<std::string> names;
  fs::path lock;
  bool remove = false;
};

struct Tally {
  std::size_t good = 0, bad = 0;
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

bool is_called(const CacheEntry& entry, const std::string& asked) {
  return std::any_of(entry.names.begin(), entry.names.end(),
                     [&](const std::string& name) { return name == asked || name.starts_with(asked + "."); });
}

void remove(const Cache& cache, const CacheEntry& entry, const std::string& name) {
  if (const std::error_code failed = cache.remove(entry))
    throw DatasetError("cannot remove {}: {}; whoever owns {} can", entry.file.string(), failed.message(),
                       cache.root().string());
  fmt::print("removed  {}\n", name);
}

Tally verify_cache(const Cache& cache, const Catalog& catalog, const PinFile& pins,
                   const std::vector<std::string>& names, bool remove_damaged) {
  Tally tally;
  for (const CacheEntry& entry : cache.entries()) {
    const bool wanted = names.empty() || std::any_of(names.begin(), names.end(), [&](const auto& asked) {
                          return is_called(entry, asked);
                        });
    if (!wanted) continue;
    const std::string name =
        entry.names.empty() ? "(no name) " + entry.content.substr(0, 12) : entry.names.front();
    try {
      check(entry, catalog, pins);
      ++tally.good;
      fmt::print("ok       {}\n", name);
    } catch (const DatasetError& error) {
      ++tally.bad;
      fmt::print("DAMAGED  {}: {}\n", name, error.what());
      if (remove_damaged) remove(cache, entry, name);
    }
  }
  fmt::print("{} good, {} damaged in {}\n", tally.good, tally.bad, cache.root().string());
  return tally;
}

// The first cache that has it: one's own, else a shared one.
Cache cache_with(const Cache& own, const std::string& name) {
  std::vector<fs::path> roots = shared_caches();
  roots.insert(roots.begin(), own.root());
  for (const fs::path& root : roots) {
    const std::vector<CacheEntry> entries = Cache(root).entries();
    if (std::any_of(entries.begin(), entries.end(),
                    [&](const auto& entry) { return is_called(entry, name); }))
      return Cache(root);
  }
  throw DatasetError("{} is not in the cache {}{}", name, own.root().string(),
                     roots.size() > 1 ? ", nor in a shared one" : "");
}

std::string canonical_name(const Catalog& catalog, const std::string& name) {
  try {
    return Catalog::cache_name(catalog.find(name));  // aliases
  } catch (const DatasetError&) {
    return name;  // of `data import` alone
  }
}

void verify(const DataCommandContext& context, const VerifyArguments& arguments) {
  const Catalog catalog = Catalog::load(context.catalog_file);
  const Cache own(context.cache_directory);
  const PinFile pins(pin_file(context, arguments.lock));
  std::map<fs::path, std::vector<std::string>> asked;
  if (arguments.names.empty()) asked[own.root()] = {};
  for (const std::string& given : arguments.names) {
    const std::string name = canonical_name(catalog, given);
    asked[cache_with(own, name).root()].push_back(name);
  }
  std::size_t bad = 0;
  for (const auto& [root, names] : asked)
    bad += verify_cache(Cache(root), catalog, pins, names, arguments.remove).bad;
  if (bad > 0 && !arguments.remove)
    throw DatasetError(
        "{} damaged; `warpgrade data verify --remove` deletes what is, it is made again when asked for", bad);
}

}  // namespace

void add_data_verify(CLI::App& data, DataCommandContext& context) {
  const auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command = data.add_subcommand("verify", "check cached datasets: hash, structure, counts, pins");
  command->add_option("names", arguments->names,
                      "datasets, also of shared caches; default: all of your cache");
  command->add_option("--lock", arguments->lock, "the file of pins, as of `fetch`");
  command->add_flag("--remove", arguments->remove, "delete what is damaged");
  command->callback([&context, arguments] { verify(context, *arguments); });
}

}  // namespace warpgrade::datasets
