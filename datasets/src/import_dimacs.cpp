// The 9th DIMACS challenge's .gr: http://www.diag.uniroma1.it/challenge9/format.shtml.
#include <cmath>

#include "csr_builder.h"
#include "importers.h"
#include "line_reader.h"
#include "text_numbers.h"

namespace warpgrade::datasets {
namespace {

struct Problem {
  std::int64_t nodes = -1, arcs = 0;
};

Problem read_problem(const LineReader& reader, std::string_view whole, const Source& source) {
  std::string_view line = whole;
  line.remove_prefix(1);
  while (!line.empty() && blank(line.front())) line.remove_prefix(1);
  if (!line.starts_with("sp")) reader.fail("'p sp nodes arcs'", whole);
  line.remove_prefix(2);
  Problem problem;
  if (!take(line, problem.nodes) || !take(line, problem.arcs) || !only_blanks(line))
    reader.fail("'p sp nodes arcs'", whole);
  if (problem.nodes < 0 || problem.nodes > kMostRows || !fits_file(problem.nodes, source))
    reader.fail("a number of nodes that a file of this size can have", whole);
  if (problem.arcs < 0 || problem.arcs > kMostEntries)
    reader.fail(fmt::format("from 0 to {} arcs (32-bit offsets)", kMostEntries), whole);
  return problem;
}

void add_arc(const LineReader& reader, std::string_view whole, const Problem& problem, CsrBuilder& builder) {
  std::string_view line = whole;
  line.remove_prefix(1);
  std::int64_t from = 0, to = 0;
  double weight = 0;
  if (!take(line, from) || !take(line, to) || !take(line, weight) || !only_blanks(line))
    reader.fail("'a from to weight'", whole);
  if (from < 1 || to < 1 || from > problem.nodes || to > problem.nodes) {
    reader.fail(fmt::format("nodes from 1 to {}{}", problem.nodes,
                            from == 0 || to == 0 ? " (.gr counts from 1; this file counts from 0)" : ""),
                whole);
  }
  if (!std::isfinite(static_cast<float>(weight))) reader.fail("a finite weight", whole);
  builder.add(from - 1, to - 1, static_cast<float>(weight));
}

Problem pass(const ImportJob& job, CsrBuilder& builder, Progress progress) {
  LineReader reader(job.source, std::move(progress));
  Problem problem;
  std::int64_t seen = 0;
  for (std::string_view line; reader.next(line);) {
    if (line.empty() || line.front() == 'c' || only_blanks(line)) continue;
    if (line.front() == 'p' && problem.nodes < 0) {
      problem = read_problem(reader, line, job.source);
    } else if (line.front() == 'a' && problem.nodes >= 0) {
      if (++seen > problem.arcs)
        reader.fail(fmt::format("no more than the {} arcs of the problem line", problem.arcs), line);
      add_arc(reader, line, problem, builder);
    } else {
      reader.fail(problem.nodes < 0 ? "'p sp nodes arcs' before any arc" : "'a from to weight'", line);
    }
  }
  if (problem.nodes < 0)
    throw DatasetError("{}:{}: the file ends before 'p sp nodes arcs'", reader.name(), reader.number());
  if (seen != problem.arcs) {
    throw DatasetError(
        "{}:{}: expected {} arcs as its problem line says, got {}: the file is cut off, or that line is "
        "wrong",
        reader.name(), reader.number(), problem.arcs, seen);
  }
  job.report->notes = reader.repairs();
  return problem;
}

}  // namespace

Csr import_dimacs(const ImportJob& job) {
  CsrBuilder builder(job.source.name());
  builder.mirror = job.options.mirror;
  builder.duplicates = job.options.keep_duplicates ? Duplicates::kKeepAll : Duplicates::kMin;
  builder.drop_self_edges = job.options.drop_self_edges;
  const Problem problem = pass(job, builder, half_of(job.progress, 0));
  builder.begin_placing(problem.nodes, problem.nodes);
  pass(job, builder, half_of(job.progress, 1));
  job.report->lines = problem.arcs;
  return builder.finish(job.report);
}

}  // namespace warpgrade::datasets
