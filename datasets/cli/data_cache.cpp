// `warpgrade data cache`: what lies in the cache; with --limit, what was asked for longest ago goes.
#include <fmt/chrono.h>
#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <memory>

#include "commands.h"
#include "terminal.h"
#include "warpgrade/datasets/cache.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

// "20G", "500M", "1.5T"; powers of 1024.
std::uint64_t bytes_of(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  const std::string units = "BKMGT";
  const std::size_t power = unit.empty() ? 0 : units.find(static_cast<char>(std::toupper(unit[0])));
  if (error != std::errc() || !(number >= 0) || unit.size() > 1 || power == std::string::npos)
    throw DatasetError("--limit {}: expected a size such as 500M, 20G or 1.5T", text);
  // Beyond 2^63 bytes there is no limit.
  const double bytes = std::min(number * std::pow(1024.0, static_cast<double>(power)), std::pow(2.0, 63));
  return static_cast<std::uint64_t>(bytes);
}

std::string size_text(std::uint64_t bytes) {
  const char* units[] = {"B", "KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, units[unit]);
}

std::string name_of(const CacheEntry& entry) {
  std::string names;
  for (const std::string& name : entry.names) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "(no name)" : names;
}

std::uint64_t bytes_below(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const auto& file : fs::recursive_directory_iterator(folder, error)) {
    if (file.is_regular_file(error)) bytes += file.file_size(error);
  }
  return bytes;
}

void print_entries(const Cache& cache) {
  std::uint64_t total = 0;
  fmt::print("{:>10}  {:<16}  {:<12}  {}\n", "size", "last used", "content", "name");
  for (const CacheEntry& entry : cache.entries()) {
    total += entry.bytes;
    fmt::print("{:>10}  {:%Y-%m-%d %H:%M}  {:<12}  {}{}\n", size_text(entry.bytes),
               fmt::gmtime(std::chrono::system_clock::to_time_t(entry.last_used)),
               entry.content.empty() ? "-" : entry.content.substr(0, 12), name_of(entry),
               entry.in_use ? "  (in use)" : "");
  }
  fmt::print("{:>10}  in {}\n", size_text(total), cache.root().string());
  if (const std::uint64_t partial = bytes_below(cache.downloads()); partial > 0)
    fmt::print("{:>10}  of downloads that are not done\n", size_text(partial));
}

void run(const DataCommandContext& context, const std::string& limit) {
  const Cache cache(context.cache_directory);
  if (limit.empty()) return print_entries(cache);
  const Eviction eviction = cache.evict(bytes_of(limit));
  for (const CacheEntry& entry : eviction.removed)
    fmt::print("removed {} ({})\n", name_of(entry), size_text(entry.bytes));
  if (eviction.stale_downloads > 0)
    fmt::print("removed downloads that broke off ({})\n", size_text(eviction.stale_downloads));
  fmt::print("{} left in {}\n", size_text(eviction.bytes_left), cache.root().string());
  if (!eviction.failure.empty()) throw DatasetError("{}; whoever owns the cache can", eviction.failure);
  if (eviction.bytes_left > bytes_of(limit)) {
    fmt::print("note: more than {}: {} files are in use or were asked for in the last ten minutes\n", limit,
               eviction.kept_in_use);
  }
}

}  // namespace

void add_data_cache(CLI::App& data, DataCommandContext& context) {
  const auto limit = std::make_shared<std::string>();
  CLI::App* command = data.add_subcommand("cache", "what lies in the cache, and its size");
  command->add_option("--limit", *limit,
                      "delete what was used longest ago until this much is left: 500M, 20G");
  command->callback([&context, limit] { run(context, *limit); });
}

}  // namespace warpgrade::datasets
