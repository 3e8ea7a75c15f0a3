// The cases of the labs whose judge is C++, as their lab.yaml has them.
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/toolchain.h"
#include "base/yaml_place.h"
#include "judge/declaration/python_contract.h"
#include "judge/labs/apsp/apsp_lab.h"
#include "judge/labs/gcn/gcn_lab.h"
#include "judge/labs/histogram/histogram_lab.h"
#include "judge/labs/registry.h"
#include "judge/labs/sampling/sampling_lab.h"
#include "judge/labs/spmm/spmm_lab.h"

namespace warpgrade {
namespace {

using nlohmann::json;

template <class T>
int number_of(const std::optional<T>& value) {
  return value ? static_cast<int>(*value) : -1;
}

// What the lab's judge makes of a case beside its spec.
json shape_of(const std::string& lab, const Case& spec) {
  if (lab == "apsp") {
    const auto shape = apsp::shape_of_case(spec);
    return {shape.n, number_of(shape.pattern)};
  }
  if (lab == "gcn") {
    const auto shape = gcn::shape_of_case(spec);
    return {static_cast<int>(shape.op), number_of(shape.pattern), shape.vertices,
            static_cast<int>(shape.numbers), shape.raw};
  }
  if (lab == "histogram") {
    const auto shape = histogram::shape_of_case(spec);
    return {static_cast<int>(shape.pattern), shape.count, shape.nodes};
  }
  if (lab == "sampling") return json::array({sampling::nodes_of_case(spec)});
  return json::array();
}

// Published records and courses' policies name these cases. What is added here is a new case; what changes is
// another case under a known name.
TEST(LabCases, AreThoseThatRecordsAndPoliciesSpeakOf) {
  std::ifstream file(project_root() / "grader/tests/unit/cases_of_labs.jsonl");
  std::map<std::string, std::vector<json>> expected;
  for (std::string line; std::getline(file, line);) {
    const json known = json::parse(line);
    expected[known.at("lab")].push_back(known);
  }
  ASSERT_EQ(expected.size(), 5U);
  for (const auto& [name, known] : expected) {
    const std::vector<Case> cases = find_lab(name).cases();
    ASSERT_GE(cases.size(), known.size()) << name;
    for (std::size_t i = 0; i < known.size(); ++i) {
      const Case& spec = cases[i];
      const json now{{"lab", name},
                     {"id", spec.id},
                     {"dataset", spec.dataset},
                     {"k", spec.width},
                     {"kind", spec.kind},
                     {"set", spec.set},
                     {"drawn", spec.drawn},
                     {"beyond_older", spec.beyond_older},
                     {"emulator_only", spec.emulator_only},
                     {"shape", shape_of(name, spec)}};
      EXPECT_EQ(now, known[i]);
      EXPECT_EQ(name == "spmm" && spec.set == "hidden", spmm::is_variant(spec)) << spec.id;
    }
  }
}

std::string message_of(const std::string& lab, const std::string& list) {
  try {
    find_lab(lab).read_cases(YamlPlace::parse("cases:\n" + list, "own.yaml")["cases"]);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(LabCases, AMistakeIsToldWithFileLineKeyAndWhatWasExpected) {
  EXPECT_EQ(message_of("spmm", "  - {graph: cora, k: 48}"),
            "own.yaml:2: cases[0].k: K is a multiple of 32, and 48 is not");
  EXPECT_EQ(message_of("spmm", "  - {graph: cora, k: 32}\n  - {graph: cora, k: [64, 32]}"),
            "own.yaml:3: cases[1].id: another case has the id cora-k32");
  EXPECT_EQ(message_of("spmm", "  - {grap: cora, k: 32}"),
            "own.yaml:2: unknown key cases[0].grap (did you mean graph?)");
  EXPECT_EQ(message_of("spmm", "  - {k: 32}"),
            "own.yaml:2: cases[0]: expected either `graph`, a dataset, or `pattern`, one of far-columns");
  EXPECT_EQ(
      message_of("spmm", "  - {id: web, graph: cora, k: [32, 64]}"),
      "own.yaml:2: cases[0].id: one id cannot name several cases: leave it out, or give one number instead "
      "of a list");
  EXPECT_EQ(
      message_of("apsp", "  - {pattern: ringg, n: 5}"),
      "own.yaml:2: cases[0].pattern: expected complete or far or heavy or islands or light or one-way or "
      "ring or sparse or zero-weights (did you mean ring?), got 'ringg'");
  EXPECT_EQ(message_of("sampling", "  - {graph: cora, nodes: some, fanout: 3}"),
            "own.yaml:2: cases[0].nodes: expected a whole number from 1 to 2147483647, got 'some'");
  EXPECT_EQ(message_of("gcn", "  - {operator: xw, pattern: even, vertices: 7}"),
            "own.yaml:2: cases[0].id: expected a word, got nothing");
  EXPECT_EQ(message_of("histogram", "  - {id: a, pattern: uniform, ids: 5, nodes: 0}").substr(0, 44),
            "own.yaml:2: cases[0].nodes: expected a whole");
  EXPECT_EQ(message_of("scan", "  - {id: a, n: many}").substr(0, 43),
            "own.yaml:2: cases[0].n: expected a whole nu");
}

// A submission's dry run sees what the parameters of the call say, and nothing else of an input.
TEST(LabCases, ADryRunIsGivenTheNumbersOfTheCallAlone) {
  std::size_t labs_in_python = 0;
  for (const Lab* lab : labs()) {
    const auto contract = declaration::find_python_contract(lab->name());
    if (!contract) continue;
    ++labs_in_python;
    const json cases = lab->dry_run_cases({});
    EXPECT_FALSE(cases.empty()) << lab->name();
    std::set<std::string> parameters;
    for (const auto& parameter : contract->lab.parameters) parameters.insert(parameter.name);
    if (contract->functions.size() > 1) parameters.insert("function");
    for (const json& each : cases) {
      std::set<std::string> given;
      for (const auto& [name, number] : each.at("values").items()) {
        given.insert(name);
        EXPECT_TRUE(number.is_number()) << each;
      }
      EXPECT_EQ(given, parameters) << lab->name();
    }
  }
  EXPECT_EQ(labs_in_python, 13U);
}

TEST(LabCases, AMistakeInTheCallInPythonIsToldAtItsLine) {
  const auto message_of = [](const std::string& functions) {
    const std::string text =
        "summary: sums\npython:\n  parameters: {n: int}\n  arrays:\n"
        "    x: {type: fp32, shape: [n]}\n    y: {type: fp32, shape: [n], role: output}\n"
        "  structures: {a: [n, x]}\n  plan: [n, stream]\n  functions:\n    run: " +
        functions + "\n";
    try {
      declaration::read_python_contract(YamlPlace::parse(text, "lab.yaml"), "sums");
      return std::string("nothing");
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(message_of("[a, {sum: y}, plan, stream]"), "nothing");
  EXPECT_EQ(message_of("[a, {sum: z}, plan, stream]"),
            "lab.yaml:10: python.functions.run[1].sum: z is no array, parameter or structure of this lab");
  EXPECT_EQ(message_of("n"), "lab.yaml:10: python.functions.run: expected a list of names, got 'n'");
}

TEST(LabCases, AListOfWidthsMakesACaseEach) {
  const auto cases = find_lab("spmm").read_cases(
      YamlPlace::parse("[{graph: our-web-crawl, k: [32, 64], kind: speed, set: real}]", "own.yaml"));
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[1].id, "our-web-crawl-k64");
  EXPECT_EQ(cases[1].dataset, "our-web-crawl");
  EXPECT_EQ(cases[1].kind, "speed");
  EXPECT_EQ(cases[1].beyond_older, "K = 64, where it was promised 32 and 256");
  EXPECT_EQ(cases[1].place, "own.yaml:1: [0]");
}

}  // namespace
}  // namespace warpgrade
