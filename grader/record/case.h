// One case of a lab: as lists and policies name it, as a judge is asked for it, as a record and a run's list
// tell it. Each of these fills what it knows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "record/fields.h"

namespace warpgrade {

namespace declaration {

// A parameter's value in a case: whole, or real.
struct Value {
  bool is_whole = true;
  std::int64_t whole = 0;
  double real = 0;  // of either
  static Value of(std::int64_t number) { return {true, number, static_cast<double>(number)}; }
  static Value of_real(double number) { return {false, 0, number}; }
  bool operator==(const Value&) const = default;

  static std::optional<Value> from_number(const nlohmann::json& json) {
    if (!json.is_number()) return std::nullopt;
    return json.is_number_integer() ? of(json.get<std::int64_t>()) : of_real(json.get<double>());
  }
  nlohmann::json to_number() const { return is_whole ? nlohmann::json(whole) : nlohmann::json(real); }
};
using Values = std::map<std::string, Value>;

enum class DrawKind {
  kUniform,
  kNormal,
  kIntegers,
  kPermutation,
  kSorted,
  kDescending,
  kConstant,
  kOneHot,
  kNpy,
  kCsr
};
inline constexpr std::string_view kDrawKinds[] = {"uniform", "normal",     "integers", "permutation",
                                                  "sorted",  "descending", "constant", "one_hot",
                                                  "npy",     "csr"};
constexpr std::span<const std::string_view> words_of(DrawKind) {
  return kDrawKinds;
}

// Of a dataset's matrix: where rows begin in `columns` (rows + 1 numbers), the column of each entry, its row.
enum class CsrPart { kRowOffsets, kColumns, kRows };
inline constexpr std::string_view kCsrParts[] = {"row_offsets", "columns", "rows"};
constexpr std::span<const std::string_view> words_of(CsrPart) {
  return kCsrParts;
}

// How the numbers of an array are drawn, by field of its elements (one, unless they are structures).
struct Draw : typed::Object {
  DrawKind kind = DrawKind::kUniform;
  double low = -1, high = 1;  // uniform, sorted; the value of constant and of one_hot is `low`
  std::int64_t whole_low = 0, whole_high = 0;  // of integers, and of integer types
  double mean = 0, deviation = 1;              // normal
  std::string file;                            // npy: in the lab's folder; the same numbers in each run
  CsrPart part = CsrPart::kRowOffsets;         // csr, of the case's graph
  std::int64_t thin_rows =
      0;  // of so many rows one, hidden, keeps few cells; the others are 0. 0: no row is thin
  bool operator==(const Draw&) const = default;

  static constexpr std::string_view kName = "Draw", kHelp = "How an array's numbers are drawn.";
  static constexpr auto fields() {
    using typed::field;
    return std::tuple{field("kind", &Draw::kind, "the distribution"),
                      field("low", &Draw::low, "the least number, or the constant"),
                      field("high", &Draw::high, "the greatest"),
                      field("whole_low", &Draw::whole_low, "the least whole number"),
                      field("whole_high", &Draw::whole_high, "the greatest"),
                      field("mean", &Draw::mean, "of a normal one"),
                      field("deviation", &Draw::deviation, "of a normal one"),
                      field("file", &Draw::file, "whose numbers these are"),
                      field("part", &Draw::part, "of the case's graph"),
                      field("thin_rows", &Draw::thin_rows, "of so many rows one keeps few cells")};
  }
};
using Draws = std::vector<Draw>;

}  // namespace declaration

struct Case : typed::Object {
  std::string id;       // "cora-k32": unique in the lab, safe as a file name
  std::string dataset;  // a name in the catalogue or of an imported graph; what is drawn: the pattern's
  int width = 0;        // by which cases of one dataset differ: K, n, fan-out ...
  std::string kind;     // "correctness" or "speed"
  // "public" (students have it), "hidden", "large" (needs memory), "real", "real-large", "stand-in", "timed",
  // or a word of a lab's or a policy's own
  std::string set;
  std::string why;     // what it exercises
  bool drawn = false;  // the judge draws the whole input: `dataset` names a pattern, not a file
  // What of it the lab's older interface was never promised; empty: nothing. A submission to that interface
  // is not judged on it.
  std::string beyond_older;
  // Its buffers are sparse files that only the emulator has: as memory of a GPU they would fill it.
  bool emulator_only = false;
  // What the lab's own judge needs to know beside these, for it alone to read: {"pattern": "ring"}.
  nlohmann::json details = nlohmann::json::object();
  std::string place;  // "policy.yaml:12: cases[0]": where it stands, for messages

  // Of a declared lab.
  declaration::Values parameters;
  std::string graph;                                // whose CSR arrays are drawn from; empty: none's
  std::map<std::string, declaration::Draws> draws;  // of arrays that are drawn otherwise than in other cases

  // Its input.
  std::filesystem::path file;  // of the cache, or what the user brought with --input
  std::string input_hash;      // of the user's own: another content is another run

  // As a record tells it; what a lab tells beside is in `other`.
  std::string dataset_kind, dataset_hash;
  std::optional<std::int64_t> rows, cols, nnz;
  nlohmann::json shape;
  bool operator==(const Case&) const = default;

  bool is_speed() const { return kind == "speed"; }

  static constexpr std::string_view kName = "Case", kHelp = "A case of a lab, as a record tells it.";
  static constexpr auto fields() {
    using typed::field;
    return std::tuple{
        field("id", &Case::id, "unique in the lab"),
        field("dataset", &Case::dataset, "a graph's name, or the pattern's of what is drawn"),
        field("width", &Case::width, "by which cases of one dataset differ: K, n, fan-out ...", "k"),
        field("kind", &Case::kind, "`correctness` or `speed`"),
        field("set", &Case::set, "a group of cases that a policy treats alike"),
        field("why", &Case::why, "what it exercises"),
        field("drawn", &Case::drawn, "the judge draws the whole input"),
        field("beyond_older", &Case::beyond_older, "what the lab's older interface was never promised"),
        field("details", &Case::details, "for the lab's own judge"),
        field("parameters", &Case::parameters, "of a declared lab"),
        field("graph", &Case::graph, "of a declared lab: whose arrays it works on"),
        field("draws", &Case::draws,
              "of a declared lab: arrays that are drawn otherwise than in other cases"),
        field("file", &Case::file, "the input's"),
        field("input_hash", &Case::input_hash, "of the user's own input"),
        field("dataset_kind", &Case::dataset_kind, "`real`, `stand-in` or `synthetic`"),
        field("dataset_hash", &Case::dataset_hash, "of the dataset's contents"),
        field("rows", &Case::rows, "of the matrix"),
        field("cols", &Case::cols, "of the matrix"),
        field("nnz", &Case::nnz, "entries of the matrix"),
        field("shape", &Case::shape, "`{max_row, mean_row, empty_rows}`"),
    };
  }
};

}  // namespace warpgrade
