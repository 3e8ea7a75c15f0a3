// `warpgrade data list`: every dataset by name.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "terminal.h"
#include "warpgrade/datasets/cache.h"
#include "warpgrade/datasets/catalog.h"

namespace warpgrade::datasets {
namespace {

std::string count_text(std::int64_t count) {
  return count > 0 ? grouped(count) : "-";
}

std::int64_t rows_of(const DatasetInfo& info) {
  return info.shape ? info.shape->rows : info.n;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void print_table(const Catalog& catalog, const Cache& cache) {
  fmt::print("  {:<19} {:<10} {:>10} {:>12}  {:<10}  {}\n", "name", "kind", "n", "nnz", "direction",
             "what it exercises");
  for (const DatasetInfo& info : catalog.all()) {
    const bool here = std::filesystem::exists(cache.path_of(Catalog::cache_name(info)));
    fmt::print("{} {:<19} {:<10} {:>10} {:>12}  {:<10}  {}\n", here ? "*" : " ", info.name, info.kind,
               count_text(rows_of(info)), count_text(info.nnz), info.direction.empty() ? "-" : info.direction,
               info.exercises);
    if (!info.aliases.empty()) fmt::print("  {:<19} also {}\n", "", joined(info.aliases));
  }
  fmt::print(
      "\n* is in the cache. A stand-in is generated; NAME@original is the graph that it stands for, NAME@v2 "
      "a "
      "stand-in\nwith communities (of web-Stanford and com-dblp as well), NAME@0.01 and NAME@v2@0.01 smaller "
      "ones.\n");
}

nlohmann::json describe(const DatasetInfo& info) {
  nlohmann::json json = {{"name", info.name},         {"aliases", info.aliases},
                         {"kind", info.kind},         {"source", info.source},
                         {"licence", info.licence},   {"direction", info.direction},
                         {"features", info.features}, {"exercises", info.exercises}};
  if (info.n > 0) json["n"] = info.n;
  if (info.nnz > 0) json["nnz"] = info.nnz;
  if (!info.note.empty()) json["note"] = info.note;
  if (!info.checked.empty()) json["checked"] = info.checked;
  if (!info.unconfirmed.empty()) json["unconfirmed"] = info.unconfirmed;
  if (info.original) json["original"] = {{"urls", info.original->urls}, {"page", info.original->page}};
  return json;
}

void list(const DataCommandContext& context, bool as_json) {
  const Catalog catalog = Catalog::load(context.catalog_file);
  if (!as_json) return print_table(catalog, Cache(context.cache_directory));
  nlohmann::json all = nlohmann::json::array();
  for (const DatasetInfo& info : catalog.all()) all.push_back(describe(info));
  fmt::print("{}\n", all.dump(2));
}

}  // namespace

void add_data_list(CLI::App& data, DataCommandContext& context) {
  const auto as_json = std::make_shared<bool>(false);
  CLI::App* command = data.add_subcommand("list", "every dataset by name");
  command->add_flag("--json", *as_json, "print JSON");
  command->callback([&context, as_json] { list(context, *as_json); });
}

}  // namespace warpgrade::datasets
