// What a lab's check can see (its power): how far outputs of different seeds lie apart, beside the errors
// that the check allows, and whether a program that does not read a part of an input gets through.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "judge/labs/declared/changed_outputs.h"

namespace warpgrade::declared {

// Of the numbers of one output, over the seeds.
struct OutputSpread {
  std::string output;
  // The error that the check allows over the number's standard deviation: the median of those that differ.
  double allowed_over_spread = 0;
  double constant = 0;  // the share of numbers that are the same under every seed
};

// Replaced parts of one input: the check compares the output for what was replaced with the right one.
struct InputReplaced {
  std::string input;
  int tried = 0;   // of those that changed the input
  int passed = 0;  // of them, the check took
  // The part that passed most often when it was tried anew: "sixteenth 16 by 0". Empty: none passed.
  std::string worst;
  int worst_tried = 0, worst_passed = 0;
};

struct CasePower {
  std::string case_id;
  int seeds = 0;
  std::vector<OutputSpread> outputs;
  std::vector<InputReplaced> inputs;  // those that are drawn
};

// Told before each seed: its number from 1 on, of how many.
using SeedProgress = std::function<void(int number, int of)>;

// Replaces in each seed one sixteenth of each input by 0, by the input's mean, or by another draw, in an
// order that the seed draws; 48 seeds try each once. A part that passed is tried again under more seeds.
// Throws JudgeFault with the oracle's words when it fails on the case's own inputs.
CasePower measure_power(const declaration::LabDeclaration& lab, const Case& declared,
                        const std::filesystem::path& graph, OracleProcess& oracle, std::uint64_t seed,
                        int seeds, int threads, const SeedProgress& progress);

// What is wrong with it, for a case whose outputs are compared in so many runs; empty: nothing.
std::vector<std::string> weaknesses(const CasePower& power, int compared_runs);

nlohmann::json json_of(const CasePower& power);
CasePower power_from_json(const nlohmann::json& json);

}  // namespace warpgrade::declared
