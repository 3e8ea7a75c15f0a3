// Parameters of stand-ins: degree curves, and their JSON.
#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fixed_point.h"
#include "warpgrade/datasets/error.h"
#include "warpgrade/datasets/standin.h"

namespace warpgrade::datasets {
namespace {

using nlohmann::json;

constexpr int kExactSteps = 16;

// 0 .. 15, then eight an octave, then the last.
std::vector<std::int64_t> ranks_of(std::int64_t n) {
  std::vector<std::int64_t> ranks;
  for (std::int64_t rank = 0, step = 1; rank < n - 1; rank += step) {
    ranks.push_back(rank);
    if (rank >= 16 && (rank & (rank - 1)) == 0) step = rank / 8;
  }
  ranks.push_back(n - 1);
  return ranks;
}

// d(r) = most * ((r + q) / q)^-tail, at least `least`; q has 8 fractional bits, tail 16.
DegreeCurve mandelbrot(const std::vector<std::int64_t>& ranks, std::int64_t most, std::int64_t least,
                       u64 tail, u64 q) {
  static const NegativeExp2 exp2;
  const u64 base = log2_fixed(q);
  DegreeCurve curve;
  for (const std::int64_t rank : ranks) {
    const u64 exponent =
        static_cast<u64>((u128(log2_fixed((static_cast<u64>(rank) << 8) + q) - base) * tail) >> 16);
    const auto degree =
        static_cast<std::int64_t>((u128(exp2(exponent)) * static_cast<u64>(most) + (u64{1} << 61)) >> 62);
    curve.points.push_back({rank, std::max(degree, least)});
  }
  return curve;
}

std::int64_t sum_of(const DegreeCurve& curve) {
  std::int64_t twice = 2 * curve.points.front().degree;
  for (std::size_t i = 1; i < curve.points.size(); ++i) {
    const auto &from = curve.points[i - 1], &to = curve.points[i];
    twice += (to.rank - from.rank) * (from.degree + to.degree) + to.degree - from.degree;
  }
  return twice / 2;
}

json curve_to_json(const DegreeCurve& curve) {
  json points = json::array();
  for (const auto& point : curve.points) points.push_back({point.rank, point.degree});
  return points;
}

[[noreturn]] void fail_at(const std::string& place, const std::string& expected, const json& got) {
  const std::string text = got.dump(-1, ' ', true, json::error_handler_t::replace);
  throw DatasetError("{}: expected {}, got {}", place, expected, text.substr(0, 60));
}

// JSON's numbers convert to any other without a word; these are whole and in range, or named.
std::int64_t whole(const json& value, const std::string& place, std::int64_t most) {
  const bool fits =
      value.is_number_unsigned() && value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  if (!fits) fail_at(place, fmt::format("a whole number from 0 to {}", most), value);
  return value.get<std::int64_t>();
}

int small(const json& object, const char* key) {
  return static_cast<int>(whole(object.at(key), key, INT32_MAX));
}

const json& list(const json& object, const char* key) {
  if (!object.at(key).is_array()) fail_at(key, "a list", object.at(key));
  return object.at(key);
}

DegreeCurve curve_from_json(const json& object, const char* key) {
  DegreeCurve curve;
  for (const json& point : list(object, key)) {
    if (!point.is_array() || point.size() != 2) fail_at(key, "pairs [rank, degree]", point);
    curve.points.push_back({whole(point[0], key, INT32_MAX), whole(point[1], key, INT32_MAX)});
  }
  return curve;
}

}  // namespace

DegreeCurve power_curve(int n, std::int64_t nnz, std::int64_t most, std::int64_t least, double tail) {
  if (n < 1 || most < 1 || most > n || least < 0 || least > most || !(tail > 0 && tail <= 8) ||
      nnz > most * n || nnz < least * n)
    throw DatasetError("no degrees of {} to {} (tail {}) of {} nodes add up to {}", least, most, tail, n,
                       nnz);
  const std::vector<std::int64_t> ranks = ranks_of(n);
  const auto steepness = static_cast<u64>(tail * 65536 + 0.5);
  u64 low = 1, high = u64{1} << 44;  // a q of 2^36 nodes is a flat line
  while (low < high) {
    const u64 middle = low + (high - low) / 2;
    if (sum_of(mandelbrot(ranks, most, least, steepness, middle)) < nnz)
      low = middle + 1;
    else
      high = middle;
  }
  return mandelbrot(ranks, most, least, steepness, low);
}

namespace {

// Columns of a directed graph. Communities are too small to give a hub its entries, so what is drawn from
// everywhere has to.
DegreeCurve column_curve(const StandInOutline& outline, int n, std::int64_t nnz, std::int64_t mean) {
  std::int64_t everywhere = kWholeShare;
  for (const auto& community : outline.communities) everywhere -= community.share;
  if (everywhere <= 0) throw DatasetError("communities that take every entry leave none to a hub column");
  const std::int64_t scaled = outline.max_column_degree * n / outline.n * kWholeShare / everywhere;
  const std::int64_t most = std::clamp<std::int64_t>(std::max(scaled, 2 * mean), 1, n);
  return power_curve(n, nnz, most, 0, outline.column_tail);
}

}  // namespace

StandInSpec spec_of(const StandInOutline& outline, int n, std::int64_t nnz) {
  StandInSpec spec;
  spec.n = n;
  spec.nnz = nnz;
  spec.seed = outline.seed;
  const std::int64_t mean = (spec.nnz + spec.n - 1) / spec.n;
  const auto scaled = outline.max_degree * n / outline.n;
  const std::int64_t most = std::clamp<std::int64_t>(std::max(scaled, 2 * mean), 1, spec.n);
  spec.row_degrees = power_curve(spec.n, spec.nnz, most, spec.nnz >= spec.n ? 1 : 0, outline.tail);
  if (outline.max_column_degree > 0) spec.column_degrees = column_curve(outline, n, nnz, mean);
  spec.communities = outline.communities;
  const int largest = std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(spec.n))) - 4);
  for (auto& community : spec.communities) community.log2_nodes = std::min(community.log2_nodes, largest);
  return spec;
}

DegreeCurve curve_of(const std::vector<int>& degrees) {
  std::vector<int> sorted = degrees;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<std::int64_t> ranks = ranks_of(static_cast<std::int64_t>(sorted.size()));
  // Short rows come in steps: both ends of each.
  for (std::size_t rank = 1; rank < sorted.size(); ++rank) {
    if (sorted[rank] == sorted[rank - 1] || sorted[rank] > kExactSteps) continue;
    ranks.push_back(static_cast<std::int64_t>(rank) - 1);
    ranks.push_back(static_cast<std::int64_t>(rank));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  DegreeCurve curve;
  for (const std::int64_t rank : ranks)
    curve.points.push_back({rank, sorted[static_cast<std::size_t>(rank)]});
  return curve;
}

std::string to_json(const StandInSpec& spec) {
  json communities = json::array();
  for (const auto& [log2_nodes, share] : spec.communities)
    communities.push_back({{"log2_nodes", log2_nodes}, {"share", share}});
  const json object = {{"generator", kStandInVersion},
                       {"n", spec.n},
                       {"nnz", spec.nnz},
                       {"seed", spec.seed},
                       {"row_degrees", curve_to_json(spec.row_degrees)},
                       {"column_degrees", curve_to_json(spec.column_degrees)},
                       {"near", spec.near},
                       {"communities", communities},
                       {"scattered", spec.scattered},
                       {"copied", spec.copied},
                       {"log2_group", spec.log2_group},
                       {"log2_pool", spec.log2_pool},
                       {"alike", spec.alike},
                       {"log2_run", spec.log2_run}};
  return object.dump() + "\n";
}

namespace {

// Those of to_json: no fewer, and no others, which would be typing errors.
void check_keys(const json& object) {
  const json known = json::parse(to_json(StandInSpec{}));
  for (const auto& [key, value] : known.items()) {
    if (!object.contains(key)) throw DatasetError("there is no \"{}\"", key);
  }
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) throw DatasetError("\"{}\" is no parameter of a stand-in", key.substr(0, 60));
  }
}

StandInSpec spec_of_object(const json& object) {
  if (const json version = object.value("generator", json()); version != kStandInVersion)
    fail_at("generator", fmt::format("{}, which this program has (fit it again)", kStandInVersion), version);
  check_keys(object);
  StandInSpec spec;
  spec.n = small(object, "n");
  spec.nnz = whole(object["nnz"], "nnz", INT32_MAX);
  if (!object["seed"].is_number_unsigned()) fail_at("seed", "a whole number below 2^64", object["seed"]);
  spec.seed = object["seed"].get<std::uint64_t>();
  spec.row_degrees = curve_from_json(object, "row_degrees");
  spec.column_degrees = curve_from_json(object, "column_degrees");
  for (const json& share : list(object, "near"))
    spec.near.push_back(static_cast<int>(whole(share, "near", kWholeShare)));
  for (const json& community : list(object, "communities")) {
    if (!community.is_object() || !community.contains("log2_nodes") || !community.contains("share"))
      fail_at("communities", "objects with log2_nodes and share", community);
    spec.communities.push_back({small(community, "log2_nodes"), small(community, "share")});
  }
  if (!object["scattered"].is_boolean()) fail_at("scattered", "true or false", object["scattered"]);
  spec.scattered = object["scattered"].get<bool>();
  spec.copied = small(object, "copied");
  spec.log2_group = small(object, "log2_group");
  spec.log2_pool = small(object, "log2_pool");
  spec.alike = small(object, "alike");
  spec.log2_run = small(object, "log2_run");
  check(spec);
  return spec;
}

}  // namespace

StandInSpec spec_from_json(const std::string& text, const std::string& file) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object())
    throw DatasetError("{}: expected a JSON object with a stand-in's parameters", file);
  try {
    return spec_of_object(object);
  } catch (const DatasetError& error) {
    throw DatasetError("{}: {}", file, error.what());
  }
}

StandInSpec read_spec(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw DatasetError("cannot read {}", file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return spec_from_json(text.str(), file.string());
}

}  // namespace warpgrade::datasets
