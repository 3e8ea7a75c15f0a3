// A lab as its author declares it in reference/<lab>/lab.yaml (schema warpgrade.lab.v1): arrays, parameters,
// the call, how inputs are drawn and outputs checked, cases. reference/README.md explains every key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "judge/declaration/case_work.h"
#include "judge/declaration/element_type.h"
#include "judge/declaration/expression.h"

namespace warpgrade {
class YamlPlace;
}

namespace warpgrade::declaration {

enum class Role { kInput, kOutput, kInPlace };

struct ArrayDeclaration {
  std::string name, about;
  ElementType type;
  std::vector<Expression> shape;
  Role role = Role::kInput;
  bool seen_by_plan = false;  // drawn once a plan, and given to it
  std::string buffer = {};    // what a written judge calls it; empty: as it is named here
  Draws draws;                // of inputs and of what is worked on in place
};

// A number that is the same in all runs of a case, or (a scalar) drawn anew for each.
struct NumberDeclaration {
  std::string name, about;
  Scalar type = Scalar::kInt32;
  Draw draw;  // of scalars
};

enum class CheckKind { kExact, kTolerance, kUlps, kBound, kScript };

struct Check {
  CheckKind kind = CheckKind::kExact;
  double absolute = 0, relative = 0;  // |error| <= absolute + relative * |want|
  std::int64_t ulps = 0;
  double factor = 0;  // |error| <= factor * unit roundoff * the oracle's NAME_magnitude
  double rms = 0;     // of a bound: the same of all errors' root mean square, if there are many; 0: not asked
  bool magnitude_of_absolutes = false;  // of a bound: NAME_magnitude is the output for inputs without
                                        // their signs
};

struct CallArgument {
  std::string type;  // as it is written: "const int*"
  std::string name;
  enum class Kind { kArray, kParameter, kScalar, kPlan, kStream } kind = Kind::kStream;
  std::string of = {};  // the array or number that it is, where that has another name
};

// Another way of drawing inputs, in some checked runs of every case: what a program may get wrong although
// it is right for the case's own inputs.
struct HardInputs {
  std::string id, why;
  std::map<std::string, Draws> draws;  // of the arrays that are drawn otherwise
};

struct BaselineDeclaration {
  std::string name, folder;  // relative to the lab's folder
  std::vector<std::string> libraries;
  bool every_pair = true;
};

struct Work {
  std::optional<Expression> bytes;  // that no program can do without moving
  std::optional<Expression> flop;
  std::string_view unit = units::kFp32;   // that does these: of judge/declaration/case_work.h
  std::optional<Expression> items;        // what throughput counts; else flop, else bytes
  std::optional<Expression> naive_steps;  // warp instructions of a naive run
};

struct LabDeclaration {
  std::string name, summary;
  std::filesystem::path folder;  // reference/<name>
  std::vector<ElementType> structures;
  std::vector<NumberDeclaration> parameters, scalars;
  std::vector<ArrayDeclaration> arrays;
  std::vector<CallArgument> call;
  std::string plan_type;     // "ScanPlan"; empty: the lab has no plan
  std::string truth;         // "oracle.py"
  std::string second_truth;  // another implementation, for `labs verify`; empty: none
  // Of the lab's folder, a program that gives the truth of timed repetitions; empty: the first baseline does.
  std::string device_truth;
  std::string check_script;
  std::map<std::string, Check> checks;  // by output
  Work work;
  std::string width;      // the parameter by which cases of one dataset differ; empty: none
  std::string work_name;  // "numbers"
  std::string ladder;     // the dataset that the steps are about
  std::vector<BaselineDeclaration> baselines;
  std::vector<HardInputs> hard;
  std::vector<Case> cases;
  double oracle_s = 60;
  std::size_t oracle_memory_mb = 8192;
  int runs = 3;  // checked ones, at least

  const ArrayDeclaration* array(const std::string& name) const;
  std::vector<const ArrayDeclaration*> outputs() const;  // and what is worked on in place
  std::vector<const ArrayDeclaration*> inputs() const;   // read-only ones
};

// One item of a list of cases, of the lab's file or of a policy, which adds cases of its own. Throws
// UsageError naming file, line, key and what was expected.
Case read_case(const YamlPlace& place, const LabDeclaration& lab);
// The same of an item in which one parameter may be a list, as in `n: [3, 7]`: a case each, `id`-3
// and `id`-7.
std::vector<Case> read_case_item(const YamlPlace& place, const LabDeclaration& lab);

// Throws UsageError naming file, line, key and what was expected. `text` is the file's.
LabDeclaration parse_lab(const std::string& text, const std::filesystem::path& file);

// What a written lab's file says of arrays and numbers, for its contract in Python: name, summary, parameters
// and arrays of the declaration alone. `python` is the file's key.
LabDeclaration read_written_call(const YamlPlace& python, const std::string& name,
                                 const std::string& summary);

// reference/<lab>/lab.yaml; nothing where there is none, or where it says that the lab's judge is C++.
std::optional<LabDeclaration> find_declaration(const std::string& lab);
// The labs that are declared by such a file, sorted.
std::vector<std::string> declared_lab_names();
// Every lab has one.
std::filesystem::path declaration_file(const std::string& lab);
// Of all that decides what a lab judges: lab.yaml, its scripts and oracle.
std::string definition_hash(const std::string& lab);

// How the array is drawn in this case. `hard`: the inputs of the run, if they are not the case's own.
const Draws& draws_in(const ArrayDeclaration& array, const Case& c, const HardInputs* hard = nullptr);
// How many numbers a part of CSR has.
std::int64_t cells_of(CsrPart part, std::int64_t rows, std::int64_t entries);
// Why the case's arrays cannot be drawn from a matrix of so many rows and entries; empty: they can.
std::string csr_misfit(const LabDeclaration& lab, const Case& c, std::int64_t rows, std::int64_t entries);

// A case on a matrix of so many rows and entries, in the file's words without braces: "graph: web, n: 5,
// entries: 9". Parameters that the matrix does not decide are those of the lab's first case. Empty: no array
// is drawn from a graph, or no parameters make the shapes fit.
std::string case_on_graph(const LabDeclaration& lab, const std::string& graph, std::int64_t rows,
                          std::int64_t entries);

// The dimensions of the array in a case. Throws std::domain_error when an expression has no value there.
std::vector<std::int64_t> shape_in(const ArrayDeclaration& array, const Values& values);
// Their product; 1 for none.
std::int64_t cells_in(const std::vector<std::int64_t>& shape);

}  // namespace warpgrade::declaration
