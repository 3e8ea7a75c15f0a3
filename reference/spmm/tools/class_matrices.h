// Matrices of classes that the thirteen graphs lack: meshes, roads, stencils, dense social graphs, small dense
// ones, rectangular ones. Made on the host.
//
// A seed decides what is random, and each matrix's size within a factor of about two, so that kernels can be
// tuned on some seeds and judged on others. Columns are sorted, without duplicates. Square ones are adjacency
// matrices of undirected graphs without self loops (stencils and finite elements have their diagonal).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace bench {

using Random = std::mt19937_64;

struct HostGraph {
  int rows = 0, cols = 0;
  std::vector<std::pair<int, int>> entries;  // (row, column), any order
  void add(std::int64_t u, std::int64_t v) { entries.emplace_back(static_cast<int>(u), static_cast<int>(v)); }
  void add_edge(std::int64_t u, std::int64_t v) {
    add(u, v);
    add(v, u);
  }
};

inline HostGraph square(int nodes) {
  return {nodes, nodes, {}};
}

struct HostCsr {
  std::string name;
  int rows = 0, cols = 0;
  std::vector<int> row_offsets, columns;
};

inline HostCsr to_csr(const std::string& name, HostGraph graph) {
  std::sort(graph.entries.begin(), graph.entries.end());
  graph.entries.erase(std::unique(graph.entries.begin(), graph.entries.end()), graph.entries.end());
  HostCsr a{name, graph.rows, graph.cols, std::vector<int>(graph.rows + 1, 0), {}};
  a.columns.reserve(graph.entries.size());
  for (const auto& [row, column] : graph.entries) {
    ++a.row_offsets[row + 1];
    a.columns.push_back(column);
  }
  std::partial_sum(a.row_offsets.begin(), a.row_offsets.end(), a.row_offsets.begin());
  return a;
}

inline bool happens(Random& random, double probability) {
  return std::uniform_real_distribution<double>()(random) < probability;
}

// A size between 0.7 and 1.4 times `about`.
inline int size_about(Random& random, double about) {
  return static_cast<int>(about * std::uniform_real_distribution<double>(0.7, 1.4)(random));
}

// A square grid of which each cell has one diagonal or the other: six neighbours in the mean, at most eight.
inline HostGraph triangulated_plane(Random& random, int side) {
  HostGraph g = square(side * side);
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      const std::int64_t at = y * side + x;
      if (x + 1 < side) g.add_edge(at, at + 1);
      if (y + 1 < side) g.add_edge(at, at + side);
      if (x + 1 < side && y + 1 < side) {
        happens(random, 0.5) ? g.add_edge(at, at + side + 1) : g.add_edge(at + 1, at + side);
      }
    }
  }
  return g;
}

// Eight neighbours.
inline HostGraph grid_with_diagonals(Random&, int side) {
  HostGraph g = square(side * side);
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      for (const auto& [dx, dy] : std::array<std::pair<int, int>, 4>{{{1, 0}, {0, 1}, {1, 1}, {-1, 1}}}) {
        if (x + dx < 0 || x + dx >= side || y + dy >= side) continue;
        g.add_edge(y * side + x, (y + dy) * side + x + dx);
      }
    }
  }
  return g;
}

// Crossings on a grid, of which most streets between neighbours exist and few others: 2.8 streets a crossing
// in the mean. Numbers run through tiles, so that neighbours are near but not at fixed distances, as in
// published road networks.
inline HostGraph road_like(Random& random, int side) {
  constexpr int kTile = 16;
  constexpr double kStreet = 0.68, kDiagonal = 0.02;
  const int tiles = (side + kTile - 1) / kTile;
  side = tiles * kTile;
  std::vector<int> within(kTile * kTile);
  std::iota(within.begin(), within.end(), 0);
  std::vector<int> number(static_cast<std::size_t>(side) * side);
  for (int tile = 0; tile < tiles * tiles; ++tile) {
    std::shuffle(within.begin(), within.end(), random);
    for (int i = 0; i < kTile * kTile; ++i) {
      const int y = tile / tiles * kTile + i / kTile, x = tile % tiles * kTile + i % kTile;
      number[static_cast<std::size_t>(y) * side + x] = tile * kTile * kTile + within[i];
    }
  }
  const auto at = [&](int x, int y) { return number[static_cast<std::size_t>(y) * side + x]; };
  HostGraph g = square(side * side);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) {
      if (x + 1 < side && happens(random, kStreet)) g.add_edge(at(x, y), at(x + 1, y));
      if (y + 1 < side && happens(random, kStreet)) g.add_edge(at(x, y), at(x, y + 1));
      if (x + 1 < side && y + 1 < side && happens(random, kDiagonal)) g.add_edge(at(x, y), at(x + 1, y + 1));
    }
  }
  return g;
}

// The neighbours of (x, y, z) in a cube, itself among them.
inline void for_each_of_27(int side, int x, int y, int z, const std::function<void(std::int64_t)>& visit) {
  for (int dz = -1; dz <= 1; ++dz) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        const int nx = x + dx, ny = y + dy, nz = z + dz;
        if (std::min({nx, ny, nz}) < 0 || std::max({nx, ny, nz}) >= side) continue;
        visit((std::int64_t{nz} * side + ny) * side + nx);
      }
    }
  }
}

inline HostGraph stencil_27(Random&, int side) {
  HostGraph g = square(side * side * side);
  for (int z = 0; z < side; ++z) {
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        const std::int64_t at = (std::int64_t{z} * side + y) * side + x;
        for_each_of_27(side, x, y, z, [&](std::int64_t other) { g.add(at, other); });
      }
    }
  }
  return g;
}

// Finite elements of three unknowns a node, as in elasticity: about 15 of 27 neighbours, in blocks of 3 by 3.
inline HostGraph finite_elements(Random& random, int side) {
  constexpr int kUnknowns = 3;
  constexpr double kNeighbour = 0.52;
  HostGraph g = square(side * side * side * kUnknowns);
  const auto couple = [&](std::int64_t u, std::int64_t v) {
    for (int i = 0; i < kUnknowns; ++i) {
      for (int j = 0; j < kUnknowns; ++j) g.add(u * kUnknowns + i, v * kUnknowns + j);
    }
  };
  for (int z = 0; z < side; ++z) {
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        const std::int64_t at = (std::int64_t{z} * side + y) * side + x;
        couple(at, at);
        for_each_of_27(side, x, y, z, [&](std::int64_t other) {
          if (other <= at || !happens(random, kNeighbour)) return;
          couple(at, other);
          couple(other, at);
        });
      }
    }
  }
  return g;
}

// Chung and Lu's model: an edge's ends are drawn by weights that fall as a power of the rank; no communities
// and no order.
inline HostGraph chung_lu(Random& random, int nodes, double mean_degree) {
  constexpr double kSkew = 0.4;
  std::vector<int> rank_to_node(nodes);
  std::iota(rank_to_node.begin(), rank_to_node.end(), 0);
  std::shuffle(rank_to_node.begin(), rank_to_node.end(), random);
  std::uniform_real_distribution<double> unit;
  const auto draw = [&] {
    const auto rank = static_cast<int>(std::pow(unit(random), 1.0 / (1.0 - kSkew)) * nodes);
    return rank_to_node[std::min(rank, nodes - 1)];
  };
  HostGraph g = square(nodes);
  const auto edges = static_cast<std::int64_t>(mean_degree * nodes / 2);
  for (std::int64_t e = 0; e < edges; ++e) {
    const int u = draw(), v = draw();
    if (u != v) g.add_edge(u, v);
  }
  return g;
}

// Watts and Strogatz's ring: each node and its nearest `degree`, a twentieth of the edges led elsewhere.
inline HostGraph ring_lattice(Random& random, int nodes, int degree) {
  constexpr double kElsewhere = 0.05;
  std::uniform_int_distribution<int> any(0, nodes - 1);
  HostGraph g = square(nodes);
  for (int u = 0; u < nodes; ++u) {
    for (int d = 1; d <= degree / 2; ++d) {
      const int v = happens(random, kElsewhere) ? any(random) : (u + d) % nodes;
      if (u != v) g.add_edge(u, v);
    }
  }
  return g;
}

// People and what they rated: both by weights that fall as a power of the rank, as in published collections of
// ratings.
inline HostGraph ratings(Random& random, int people, int things, double mean) {
  constexpr double kSkewOfPeople = 0.45, kSkewOfThings = 0.55;
  std::uniform_real_distribution<double> unit;
  const auto draw = [&](int count, double skew) {
    return std::min(static_cast<int>(std::pow(unit(random), 1.0 / (1.0 - skew)) * count), count - 1);
  };
  HostGraph g{people, things, {}};
  const auto entries = static_cast<std::int64_t>(mean * people);
  for (std::int64_t e = 0; e < entries; ++e) g.add(draw(people, kSkewOfPeople), draw(things, kSkewOfThings));
  return g;
}

// A linear programme: each constraint has a run of neighbouring variables of its own stage, and a few of any.
inline HostGraph linear_programme(Random& random, int constraints, int variables, int mean) {
  constexpr int kRun = 8;
  const int window = std::min(variables, 16 * mean);
  HostGraph g{constraints, variables, {}};
  std::uniform_int_distribution<int> any(0, variables - 1), within(0, window - 1),
      length(mean / 2, mean + mean / 2);
  for (int row = 0; row < constraints; ++row) {
    const std::int64_t stage = std::int64_t{variables - window} * row / constraints;
    for (int left = length(random); left > 0; left -= kRun) {
      const std::int64_t first = happens(random, 0.15) ? any(random) : stage + within(random);
      for (int i = 0; i < std::min(left, kRun); ++i)
        g.add(row, std::min<std::int64_t>(first + i, variables - 1));
    }
  }
  return g;
}

// A power network: a tree whose edges are mostly short, and a third more edges among neighbours.
inline HostGraph power_network(Random& random, int nodes) {
  constexpr int kReach = 40;
  HostGraph g = square(nodes);
  for (int u = 1; u < nodes; ++u) {
    const auto before = [&] {
      return u - std::uniform_int_distribution<int>(1, std::min(u, kReach))(random);
    };
    g.add_edge(u, happens(random, 0.02) ? std::uniform_int_distribution<int>(0, u - 1)(random) : before());
    if (happens(random, 0.33)) g.add_edge(u, before());
  }
  return g;
}

// Finite elements of `unknowns` a node in the plane, of quadrilaterals with nodes in rows: nine neighbours, in
// blocks of unknowns by unknowns.
inline HostGraph plane_elements(Random&, int side, int unknowns) {
  HostGraph g = square(side * side * unknowns);
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      for (std::int64_t ny = std::max<std::int64_t>(y - 1, 0); ny <= std::min<std::int64_t>(y + 1, side - 1);
           ++ny) {
        for (std::int64_t nx = std::max<std::int64_t>(x - 1, 0);
             nx <= std::min<std::int64_t>(x + 1, side - 1); ++nx) {
          for (int i = 0; i < unknowns; ++i) {
            for (int j = 0; j < unknowns; ++j)
              g.add((y * side + x) * unknowns + i, (ny * side + nx) * unknowns + j);
          }
        }
      }
    }
  }
  return g;
}

struct MatrixClass {
  const char* name;
  // scale: share of the full number of nodes, at most 1.
  HostGraph (*make)(Random& random, double scale);
};

inline int side_of(Random& random, double nodes, double dimensions) {
  return std::max(4, static_cast<int>(std::pow(size_about(random, nodes), 1.0 / dimensions)));
}

inline constexpr MatrixClass kMatrixClasses[] = {
    {"triangulated", [](Random& r, double s) { return triangulated_plane(r, side_of(r, 300'000 * s, 2)); }},
    {"diagonal-grid", [](Random& r, double s) { return grid_with_diagonals(r, side_of(r, 300'000 * s, 2)); }},
    {"road-like", [](Random& r, double s) { return road_like(r, side_of(r, 300'000 * s, 2)); }},
    {"road-like-large", [](Random& r, double s) { return road_like(r, side_of(r, 1'500'000 * s, 2)); }},
    {"stencil-27", [](Random& r, double s) { return stencil_27(r, side_of(r, 150'000 * s, 3)); }},
    {"finite-elements", [](Random& r, double s) { return finite_elements(r, side_of(r, 30'000 * s, 3)); }},
    {"chung-lu-40", [](Random& r, double s) { return chung_lu(r, size_about(r, 36'000 * s) + 64, 40); }},
    {"chung-lu-85", [](Random& r, double s) { return chung_lu(r, size_about(r, 18'000 * s) + 64, 85); }},
    {"chung-lu-120", [](Random& r, double s) { return chung_lu(r, size_about(r, 7'000 * s) + 64, 120); }},
    {"ring-10", [](Random& r, double s) { return ring_lattice(r, size_about(r, 200'000 * s) + 64, 10); }},
    {"ring-40", [](Random& r, double s) { return ring_lattice(r, size_about(r, 60'000 * s) + 64, 40); }},
    {"ratings",
     [](Random& r, double s) {
       return ratings(r, size_about(r, 1'000 * s) + 64, size_about(r, 1'700 * s) + 64, 130);
     }},
    {"ratings-large",
     [](Random& r, double s) {
       return ratings(r, size_about(r, 12'000 * s) + 64, size_about(r, 6'000 * s) + 64, 130);
     }},
    {"ddi-like", [](Random& r, double s) { return chung_lu(r, size_about(r, 2'000 * s) + 64, 90); }},
    {"linear-programme",
     [](Random& r, double s) {
       return linear_programme(r, size_about(r, 3'100 * s) + 64, size_about(r, 9'400 * s) + 512, 47);
     }},
    {"linear-programme-wide",
     [](Random& r, double s) {
       return linear_programme(r, size_about(r, 6'000 * s) + 64, size_about(r, 90'000 * s) + 512, 24);
     }},
    {"power-network", [](Random& r, double s) { return power_network(r, size_about(r, 9'000 * s) + 64); }},
    {"plane-elements-18",
     [](Random& r, double s) { return plane_elements(r, side_of(r, 12'000 * s, 2), 2); }},
    {"plane-elements-27",
     [](Random& r, double s) { return plane_elements(r, side_of(r, 12'000 * s, 2), 3); }},
    {"plane-elements-54", [](Random& r, double s) { return plane_elements(r, side_of(r, 4'000 * s, 2), 6); }},
};

// So that classes draw different numbers for one seed.
inline std::uint64_t name_number(const std::string& name) {
  std::uint64_t number = 0;
  for (const char c : name) number = number * 31 + static_cast<unsigned char>(c);
  return number;
}

// The class's matrix for a seed: the same with one C++ library.
inline HostCsr make_class_matrix(const MatrixClass& kind, std::uint64_t seed, double scale) {
  std::seed_seq parts{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(name_number(kind.name))};
  Random random(parts);
  return to_csr(kind.name, kind.make(random, scale));
}

}  // namespace bench
