// Lists of edges: SNAP's (https://snap.stanford.edu/data/), and the contests' behind a head "nodes edges".
#include <algorithm>
#include <cmath>
#include <cstring>

#include "csr_builder.h"
#include "importers.h"
#include "line_reader.h"
#include "text_numbers.h"

namespace warpgrade::datasets {
namespace {

// What a file says about itself, and what stands in it.
struct Claims {
  std::int64_t nodes = -1, edges = -1;  // -1: nothing said
  std::int64_t line = 0;                // where
};

struct FirstEdge {
  std::int64_t from = -1, to = -1, line = 0;
  std::int64_t others_smallest = INT64_MAX, others_largest = -1;
};

// "# Nodes: 36692 Edges: 367662", as SNAP writes it.
void read_comment(const LineReader& reader, std::string_view line, Claims& claims) {
  const std::string text = lower(line);
  for (auto& [word, value] : {std::pair<const char*, std::int64_t&>{"nodes:", claims.nodes},
                              std::pair<const char*, std::int64_t&>{"edges:", claims.edges}}) {
    const std::size_t at = text.find(word);
    if (at == std::string::npos) continue;
    std::string_view rest = std::string_view(text).substr(at + std::strlen(word));
    std::int64_t number = 0;
    if (take(rest, number) && number >= 0) {
      value = number;
      claims.line = reader.number();
    }
  }
}

struct Edge {
  std::int64_t from = 0, to = 0;
  float weight = 1;
  bool weighted = false;
};

Edge read_edge(const LineReader& reader, std::string_view whole, const Source& source) {
  std::string_view line = whole;
  Edge edge;
  double weight = 1;
  if (!take(line, edge.from) || !take(line, edge.to))
    reader.fail("an edge: 'from to', two whole numbers", whole);
  edge.weighted = !only_blanks(line);
  if (edge.weighted && (!take(line, weight) || !only_blanks(line)))
    reader.fail("an edge: 'from to' or 'from to weight'", whole);
  if (edge.from < 0 || edge.to < 0 || edge.from >= kMostRows || edge.to >= kMostRows)
    reader.fail(fmt::format("node ids from 0 to {}", kMostRows - 1), whole);
  const std::int64_t larger = std::max(edge.from, edge.to);
  if (!fits_file(larger, source)) {
    reader.fail(fmt::format("nodes numbered from 0 without gaps (node id {} in a file of {} bytes)", larger,
                            source.file_bytes()),
                whole);
  }
  edge.weight = static_cast<float>(weight);
  if (!std::isfinite(edge.weight)) reader.fail("a finite weight", whole);
  return edge;
}

bool is_comment(std::string_view line) {
  return line.empty() || line.front() == '#' || line.front() == '%' || only_blanks(line);
}

struct Pass {
  Claims claims;
  FirstEdge first;
  std::int64_t last_line = 0, weighted = 0;
  std::vector<std::string> repairs;
};

// With `head`, the first line that is no comment holds the claims.
Pass pass(const ImportJob& job, bool head, CsrBuilder& builder, Progress progress) {
  LineReader reader(job.source, std::move(progress));
  Pass seen;
  bool expect_head = head;
  for (std::string_view line; reader.next(line);) {
    if (is_comment(line)) {
      if (!head) read_comment(reader, line, seen.claims);
      continue;
    }
    if (expect_head) {
      std::string_view rest = line;
      if (!take(rest, seen.claims.nodes) || !take(rest, seen.claims.edges) || !only_blanks(rest))
        reader.fail("a head: 'nodes edges'", line);
      if (seen.claims.nodes < 0 || seen.claims.nodes > kMostRows || !fits_file(seen.claims.nodes, job.source))
        reader.fail(
            fmt::format("a number of nodes that a file of {} bytes can have", job.source.file_bytes()), line);
      if (seen.claims.edges < 0 || seen.claims.edges > kMostEntries)
        reader.fail(fmt::format("from 0 to {} edges", kMostEntries), line);
      seen.claims.line = reader.number();
      expect_head = false;
      continue;
    }
    const Edge edge = read_edge(reader, line, job.source);
    if (seen.first.line == 0) {
      seen.first = {edge.from, edge.to, reader.number()};
    } else {
      seen.first.others_smallest = std::min({seen.first.others_smallest, edge.from, edge.to});
      seen.first.others_largest = std::max({seen.first.others_largest, edge.from, edge.to});
    }
    seen.weighted += edge.weighted ? 1 : 0;
    builder.add(edge.from, edge.to, edge.weight);
  }
  if (expect_head)
    throw DatasetError("{}:{}: expected a head 'nodes edges', the file ends", reader.name(), reader.number());
  seen.last_line = reader.number();
  seen.repairs = reader.repairs();
  return seen;
}

struct Numbering {
  std::int64_t nodes = 0, shift = 0;
  bool compact = false;
};

std::string ids_text(const CsrBuilder& builder) {
  return fmt::format("{} different ids from {} to {}", builder.distinct_ids(), builder.smallest_id(),
                     builder.largest_id());
}

// How the ids fit the number of nodes that the file claims.
Numbering fit_claim(const ImportJob& job, const CsrBuilder& builder, const Claims& claims) {
  const std::int64_t nodes = claims.nodes, largest = builder.largest_id();
  auto& notes = job.report->notes;
  if (largest == nodes && builder.smallest_id() >= 1) {
    notes.push_back(fmt::format("ids count from 1 to {}: moved down by one", nodes));
    return {nodes, 1, false};
  }
  if (largest < nodes) {
    const std::int64_t isolated = nodes - builder.distinct_ids();
    if (isolated > 0) notes.push_back(fmt::format("{} of {} nodes have no edge", isolated, nodes));
    if (builder.smallest_id() == 1 && largest == nodes - 1)
      notes.push_back("no edge at node 0: if the ids count from 1, say --ids one");
    return {nodes, 0, false};
  }
  if (builder.distinct_ids() == nodes) {
    notes.push_back(fmt::format("ids run up to {} with gaps: renumbered from 0 to {} in ascending order",
                                largest, nodes - 1));
    return {nodes, 0, true};
  }
  throw DatasetError(
      "{}:{}: expected {} nodes as stated there, got {}: the file is cut off, or its comment is wrong "
      "(--ignore-counts reads it without)",
      job.source.name(), claims.line, nodes, ids_text(builder));
}

Numbering number_nodes(const ImportJob& job, const CsrBuilder& builder, const Claims& claims) {
  const std::int64_t largest = builder.largest_id(), smallest = builder.smallest_id();
  switch (job.options.ids) {
    case Ids::kFromOne:
      if (smallest < 1)
        throw DatasetError("{}: expected ids from 1 (--ids one), but node 0 occurs", job.source.name());
      return {largest, 1, false};
    case Ids::kCompact:
      return {builder.distinct_ids(), 0, true};
    case Ids::kFromZero:
      return {std::max(largest + 1, claims.nodes), 0, false};
    case Ids::kAuto:
      break;
  }
  if (claims.nodes >= 0 && !job.options.ignore_counts) return fit_claim(job, builder, claims);
  if (smallest >= 1) {
    job.report->notes.push_back(fmt::format(
        "no edge at node 0, read as a node without edges: if the ids count from 1, say --ids one"));
  }
  return {largest + 1, 0, false};
}

void check_edges(const ImportJob& job, const Claims& claims, const CsrBuilder& builder, std::int64_t last) {
  if (claims.edges < 0 || claims.edges == builder.lines() || job.options.ignore_counts) return;
  throw DatasetError(
      "{}:{}: expected {} edges as line {} says, got {}: the file is cut off, or that line is wrong "
      "(--ignore-counts reads it without)",
      job.source.name(), last, claims.edges, claims.line, builder.lines());
}

// "9 12" in front of twelve edges among nine nodes is a head, or an edge by chance.
void refuse_hidden_head(const ImportJob& job, const FirstEdge& first, const CsrBuilder& builder) {
  const bool all_below =
      first.others_largest < first.from || (first.others_smallest >= 1 && first.others_largest == first.from);
  constexpr std::int64_t kEnough = 8;  // shorter lists have such an edge by chance: a note
  if (job.options.format == Format::kEdgeList || first.to != builder.lines() - 1 || !all_below) return;
  if (builder.lines() - 1 < kEnough) {
    job.report->notes.push_back(fmt::format(
        "line {}: '{} {}' was read as an edge; if it is a head, {} nodes and {} edges, say --format contest",
        first.line, first.from, first.to, first.from, first.to));
    return;
  }
  throw DatasetError(
      "{}:{}: '{} {}' may be an edge, or a head: {} nodes, {} edges; say --format edge-list or --format "
      "contest",
      job.source.name(), first.line, first.from, first.to, first.from, first.to);
}

Csr read_twice(const ImportJob& job, bool head) {
  CsrBuilder builder(job.source.name());
  builder.mirror = job.options.mirror;
  builder.duplicates = job.options.keep_duplicates ? Duplicates::kKeepAll : Duplicates::kKeepFirst;
  builder.drop_self_edges = job.options.drop_self_edges;
  builder.track_ids = true;
  const Pass seen = pass(job, head, builder, half_of(job.progress, 0));
  if (builder.lines() == 0 && (!head || seen.claims.edges != 0))
    throw DatasetError("{}: no edge in it; expected lines 'from to'", job.source.name());
  check_edges(job, seen.claims, builder, seen.last_line);
  if (!head && seen.claims.nodes < 0) refuse_hidden_head(job, seen.first, builder);
  const Numbering numbering =
      builder.lines() > 0 ? number_nodes(job, builder, seen.claims) : Numbering{seen.claims.nodes, 0, false};
  if (!fits_file(numbering.nodes, job.source))
    throw DatasetError("{}: {} nodes, more than a file of {} bytes can have", job.source.name(),
                       numbering.nodes, job.source.file_bytes());
  auto& notes = job.report->notes;
  notes.insert(notes.end(), seen.repairs.begin(), seen.repairs.end());
  if (seen.weighted > 0 && seen.weighted < builder.lines())
    notes.push_back(fmt::format("{} of {} edges have no weight: read as 1", builder.lines() - seen.weighted,
                                builder.lines()));
  job.report->lines = builder.lines();
  builder.begin_placing(numbering.nodes, numbering.nodes, numbering.shift, numbering.compact);
  pass(job, head, builder, half_of(job.progress, 1));
  return builder.finish(job.report);
}

}  // namespace

Csr import_edge_list(const ImportJob& job) {
  return read_twice(job, false);
}

Csr import_contest(const ImportJob& job) {
  return read_twice(job, true);
}

Csr import_contest_binary(const ImportJob& job) {
  const std::string name = job.source.name();
  CsrBuilder builder(name);
  builder.mirror = job.options.mirror;
  builder.duplicates = job.options.keep_duplicates ? Duplicates::kKeepAll : Duplicates::kMin;
  builder.drop_self_edges = job.options.drop_self_edges;
  std::int32_t head[2] = {};
  for (const bool placing : {false, true}) {
    const auto stream = job.source.open();
    read_exactly(*stream, std::as_writable_bytes(std::span(head)), name, 0);
    if (head[0] < 0 || head[1] < 0 || !fits_file(head[0], job.source)) {
      throw DatasetError("{}: byte 0: expected int32 'nodes edges' that {} bytes can hold, got {} and {}",
                         name, job.source.file_bytes(), head[0], head[1]);
    }
    if (placing) builder.begin_placing(head[0], head[0]);
    std::uint64_t offset = 8;
    for (std::int32_t i = 0; i < head[1]; ++i, offset += 12) {
      std::int32_t edge[3];
      read_exactly(*stream, std::as_writable_bytes(std::span(edge)), name, offset);
      if (edge[0] < 0 || edge[1] < 0 || edge[0] >= head[0] || edge[1] >= head[0]) {
        throw DatasetError("{}: byte {}: edge {}: expected nodes from 0 to {}, got {} and {}", name, offset,
                           i, head[0] - 1, edge[0], edge[1]);
      }
      builder.add(edge[0], edge[1], static_cast<float>(edge[2]));
      if (job.progress && i % 65536 == 0)
        half_of(job.progress, placing ? 1 : 0)(stream->consumed(), job.source.file_bytes());
    }
    std::byte rest[1];
    if (stream->read(rest) > 0)
      throw DatasetError("{}: byte {}: expected the end after {} edges, but more follows", name, offset,
                         head[1]);
  }
  job.report->lines = head[1];
  return builder.finish(job.report);
}

}  // namespace warpgrade::datasets
