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

DegreeCurve curve_from_json(const json& points) {
  DegreeCurve curve;
  for (const json& point : points)
    curve.points.push_back({point.at(0).get<std::int64_t>(), point.at(1).get<std::int64_t>()});
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

StandInSpec spec_from_json(const std::string& text, const std::string& file) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object())
    throw DatasetError("{}: expected a JSON object with a stand-in's parameters", file);
  StandInSpec spec;
  try {
    if (const std::string version = object.at("generator"); version != kStandInVersion)
      throw DatasetError("{}: made for generator {}, this one is {}; fit it again", file, version,
                         kStandInVersion);
    object.at("n").get_to(spec.n);
    object.at("nnz").get_to(spec.nnz);
    object.at("seed").get_to(spec.seed);
    spec.row_degrees = curve_from_json(object.at("row_degrees"));
    spec.column_degrees = curve_from_json(object.at("column_degrees"));
    object.at("near").get_to(spec.near);
    for (const json& community : object.at("communities"))
      spec.communities.push_back({community.at("log2_nodes"), community.at("share")});
    object.at("scattered").get_to(spec.scattered);
    object.at("copied").get_to(spec.copied);
    object.at("log2_group").get_to(spec.log2_group);
    object.at("log2_pool").get_to(spec.log2_pool);
    object.at("alike").get_to(spec.alike);
    object.at("log2_run").get_to(spec.log2_run);
    check(spec);
  } catch (const json::exception& error) {
    throw DatasetError("{}: {}", file, error.what());
  } catch (const DatasetError& error) {
    throw DatasetError(
        "{}", std::string(error.what()).starts_with(file) ? error.what() : file + ": " + error.what());
  }
  return spec;
}

StandInSpec read_spec(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw DatasetError("cannot read {}", file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return spec_from_json(text.str(), file.string());
}

}  // namespace warpgrade::datasets
