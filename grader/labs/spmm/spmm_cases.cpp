// The cases of lab spmm.
#include <array>

#include "labs/spmm/far_columns.h"
#include "labs/spmm/spmm_lab.h"

namespace warpgrade::spmm {
namespace {

struct Shape {
  const char* dataset;
  const char* set;
  std::array<int, 2> ks;  // 0: only one
  const char* why;
};

// Small matrices, each with one trap; the students' own run has all of them.
constexpr Shape kShapes[] = {
    {"synth-uniform", "public", {32, 256}, "rows of even length"},
    {"synth-ragged", "public", {32, 256}, "a row count that no tile divides"},
    {"synth-empty-rows", "public", {32, 256}, "most rows without entries"},
    {"synth-hub", "public", {32, 256}, "one row thousands of entries long among short ones"},
    {"synth-single-row", "public", {32, 0}, "one row"},
    {"synth-single-column", "public", {32, 0}, "one column"},
    {"synth-identity", "public", {32, 0}, "C = B"},
    {"synth-all-empty", "public", {32, 0}, "no entry at all: C = 0"},
    {"synth-duplicates", "public", {32, 0}, "columns that repeat within a row add up"},
    {"synth-wide-k", "public", {64, 512}, "other widths of B: multiples of 32"},
    {"synth-tall", "large", {256, 0}, "rows * K * 4 beyond 2^31: offsets need 64 bits"},
};

// Real graphs: timed on a GPU; the small ones are quick enough to be judged on the emulator too. Those whose
// source is not on this machine are skipped visibly.
constexpr const char* kSmallGraphs[] = {"cora", "pubmed", "ego-Facebook", "wordnet", "debian-packages"};
constexpr const char* kLargeGraphs[] = {"PP-Pathways",   "email-Enron",      "ogbl-ddi",
                                        "cit-HepPh",     "soc-Slashdot0902", "dblp-2010",
                                        "USA-road-d.NY", "cnr-2000",         "linux-6.1-calls"};

// The thirteen graphs of the course, as stand-ins of the published size: timed on a GPU.
constexpr const char* kStandIns[] = {"arxiv", "collab",     "citation", "ddi",     "protein",
                                     "ppa",   "reddit.dgl", "products", "youtube", "amazon_cogdl",
                                     "yelp",  "wikikg2",    "am"};

// Public matrices under other names: rows and columns in another order by the run's hidden seed. What a
// submission remembers of the public file is worth nothing on them.
constexpr const char* kVariants[] = {"synth-ragged", "synth-hub", "cora", "ego-Facebook"};

std::string case_id(const std::string& dataset, int k) {
  return dataset + "-k" + std::to_string(k);
}

// The older class interface knows only num_v, a square matrix, and its courses measured two widths. Matrices
// are made square for it (spmm_judge.cpp); other widths are cases of the contract alone.
std::string beyond_older(int k) {
  if (k == 32 || k == 256) return "";
  return "K = " + std::to_string(k) + ", where it was promised 32 and 256";
}

}  // namespace

std::vector<CaseSpec> spmm_cases() {
  std::vector<CaseSpec> cases;
  for (const Shape& shape : kShapes) {
    for (int k : shape.ks) {
      if (k == 0) continue;
      cases.push_back({case_id(shape.dataset, k), shape.dataset, k, "correctness", shape.set, shape.why});
    }
  }
  for (const char* dataset : kVariants) {
    cases.push_back({case_id(dataset + std::string("-variant"), 32), dataset, 32, "correctness", "hidden",
                     "the matrix under other names: nothing remembered of the public one helps"});
  }
  cases.push_back(far_columns_case());
  const auto add = [&](const char* graph, const char* set, const char* why) {
    for (int k : {32, 256}) cases.push_back({case_id(graph, k), graph, k, "speed", set, why});
  };
  for (const char* graph : kSmallGraphs) add(graph, "real", "a real graph");
  for (const char* graph : kLargeGraphs) add(graph, "real-large", "a real graph");
  for (const char* graph : kStandIns) add(graph, "stand-in", "stands in for the graph of that name");
  for (CaseSpec& spec : cases) {
    if (spec.beyond_older.empty()) spec.beyond_older = beyond_older(spec.k);
  }
  return cases;
}

}  // namespace warpgrade::spmm
