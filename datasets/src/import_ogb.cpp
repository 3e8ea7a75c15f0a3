// The Open Graph Benchmark's raw folder (https://ogb.stanford.edu): edge.csv.gz, "from,to" a line;
// num-node-list.csv.gz and num-edge-list.csv.gz, one number a graph. Repeated edges are kept: OGB
// counts them.
#include <algorithm>

#include "container.h"
#include "csr_builder.h"
#include "importers.h"
#include "line_reader.h"
#include "text_numbers.h"

namespace warpgrade::datasets {
namespace {

Source sibling(const Source& source, const std::string& name) {
  if (source.member.empty()) return {source.path.parent_path() / name, ""};
  return {source.path, (std::filesystem::path(source.member).parent_path() / name).string()};
}

bool exists(const Source& source) {
  if (source.member.empty()) return std::filesystem::exists(source.path);
  const auto members = list_container(source.path);
  return std::any_of(members.begin(), members.end(),
                     [&](const ContainerMember& member) { return member.name == source.member; });
}

// The single number of a num-*-list.csv.gz; several graphs in one file are refused.
std::int64_t read_number(const Source& source) {
  LineReader reader(source, {});
  std::string_view line;
  std::int64_t number = -1;
  while (reader.next(line)) {
    if (only_blanks(line)) continue;
    if (number >= 0) reader.fail("one number: a file of several graphs is not read", line);
    const std::string_view whole = line;
    if (!take(line, number) || !only_blanks(line) || number < 0) reader.fail("a number", whole);
  }
  if (number < 0) throw DatasetError("{}: expected a number, the file is empty", source.name());
  return number;
}

void pass(const ImportJob& job, std::int64_t nodes, CsrBuilder& builder, Progress progress) {
  LineReader reader(job.source, std::move(progress));
  for (std::string_view line; reader.next(line);) {
    if (only_blanks(line)) continue;
    const std::string_view whole = line;
    std::int64_t from = 0, to = 0;
    if (!take(line, from) || !take(line, to) || !only_blanks(line)) reader.fail("'from,to'", whole);
    if (from < 0 || to < 0 || from >= nodes || to >= nodes)
      reader.fail(fmt::format("nodes from 0 to {} as num-node-list says", nodes - 1), whole);
    builder.add(from, to, 1);
  }
  job.report->notes = reader.repairs();
}

}  // namespace

Csr import_ogb(const ImportJob& job) {
  const Source node_list = sibling(job.source, "num-node-list.csv.gz");
  const Source edge_list = sibling(job.source, "num-edge-list.csv.gz");
  if (!exists(node_list))
    throw DatasetError("{}: expected num-node-list.csv.gz beside it", job.source.name());
  const std::int64_t nodes = read_number(node_list);
  if (nodes > kMostRows || !fits_file(nodes, job.source))
    throw DatasetError("{}: {} nodes, more than {} can hold", node_list.name(), nodes, job.source.name());
  CsrBuilder builder(job.source.name());
  builder.mirror = job.options.mirror;
  builder.drop_self_edges = job.options.drop_self_edges;
  pass(job, nodes, builder, half_of(job.progress, 0));
  if (exists(edge_list) && !job.options.ignore_counts) {
    const std::int64_t edges = read_number(edge_list);
    if (edges != builder.lines()) {
      throw DatasetError("{}: expected {} edges as {} says, got {}: one of them is cut off",
                         job.source.name(), edges, edge_list.name(), builder.lines());
    }
  }
  builder.begin_placing(nodes, nodes);
  pass(job, nodes, builder, half_of(job.progress, 1));
  job.report->lines = builder.lines();
  return builder.finish(job.report);
}

}  // namespace warpgrade::datasets
