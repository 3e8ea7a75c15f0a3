// The arrays of one case of a declared lab, in the memory that judge and oracle share: drawn there, answered
// there, compared with what a program made of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "judge/declaration/lab_declaration.h"
#include "judge/labs/declared/comparison.h"
#include "judge/labs/declared/draw.h"
#include "judge/labs/declared/kept_answers.h"
#include "judge/labs/declared/oracle_process.h"

namespace warpgrade::declared {

// Scalars as a run's arguments: those of floating point without their signs.
std::vector<std::int64_t> absolute_scalars(const declaration::LabDeclaration& lab,
                                           std::vector<std::int64_t> scalars);

// The inputs of a run of this seed, where they are not the case's own; null: they are.
const declaration::HardInputs* hard_inputs(const declaration::LabDeclaration& lab, std::uint64_t run_seed);

class CaseArrays {
 public:
  // Takes the oracle's memory for this case. `graph`: the file of the case's graph, where it has one. Throws
  // JudgeFault when there is no memory, or the graph does not fit.
  CaseArrays(const declaration::LabDeclaration& lab, const Case& declared, const std::filesystem::path& graph,
             OracleProcess& oracle, int threads);
  // The same case once more, in the memory of another oracle.
  CaseArrays(const CaseArrays& other, OracleProcess& oracle);
  CaseArrays(const CaseArrays&) = delete;
  CaseArrays& operator=(const CaseArrays&) = delete;

  // Whoever draws instead of the host's threads, the same bits; copies of these arrays have it too.
  using Drawer = std::function<void(const std::vector<FieldDraw>&, std::span<std::byte>)>;
  void draw_by(Drawer drawer) { drawer_ = std::move(drawer); }
  bool is_drawn_by_threads() const { return !drawer_; }

  // Draws anew what the run sees, or what the plan sees, on so many threads. The numbers follow from the
  // seed alone.
  void draw_for_run(std::uint64_t seed, int threads);
  void draw_for_plan(std::uint64_t seed, int threads);
  void draw_for_run(std::uint64_t seed) { draw_for_run(seed, threads_); }
  void draw_for_plan(std::uint64_t seed) { draw_for_plan(seed, threads_); }
  // The same numbers for whoever draws them elsewhere: an array's fields (none where its contents are the
  // same in every run), and the scalars.
  std::vector<FieldDraw> drawn_fields(const declaration::ArrayDeclaration& array, std::uint64_t seed) const;
  std::vector<std::int64_t> drawn_scalars(std::uint64_t seed) const;
  // The contents that are the same in every run; empty: they are drawn.
  std::span<const std::byte> fixed(const declaration::ArrayDeclaration& array) const;
  // Whether a plan sees any array, so that another plan makes truths stale.
  static bool plan_sees_arrays(const declaration::LabDeclaration& lab);
  // Of the memory that judge and oracle share.
  std::size_t shared_bytes() const { return shared_bytes_; }
  // The arguments of a run: the scalars.
  const std::vector<std::int64_t>& scalars() const { return scalars_; }

  // What a run starts from: an input's contents, or those of what is worked on in place.
  std::span<std::byte> contents(const declaration::ArrayDeclaration& array);
  std::size_t bytes_of(const declaration::ArrayDeclaration& array) const;
  std::int64_t cells_of(const declaration::ArrayDeclaration& array) const { return slot(array).cells; }

  // Asks the oracle for the outputs of what was drawn; where a script alone checks, only when told to.
  // Returns the seconds that it took of all cores together. Throws JudgeFault with its words.
  enum class Ask { kWhereCompared, kAlways };
  double find_truth(Ask ask = Ask::kWhereCompared);

  // Where the output of a program is to be put before check(), with its cells in their own type.
  std::span<std::byte> result(const declaration::ArrayDeclaration& output);
  // The oracle's output, laid out as truth_type(); writable for tests of the check itself.
  std::span<std::byte> truth(const declaration::ArrayDeclaration& output) const;
  // What the oracle's error bounds grow with; fp64, empty where an output has no bound.
  std::span<const std::byte> magnitudes(const declaration::ArrayDeclaration& output) const;
  // The truth as it is; and what was copied before, for the same inputs, instead of the oracle's own.
  Answer copy_answer() const;
  void put_answer(const Answer& answer);
  // The inputs and scalars of floating point lose their signs; the truth is another one then.
  void make_inputs_absolute();
  // What is wrong with result(); nothing: it is right.
  struct Finding {
    std::string message, pattern;
    nlohmann::json mismatches;
    bool unwritten = false;
  };
  std::optional<Finding> check();

  // What the last check() looked at.
  std::int64_t cells_checked() const { return cells_checked_; }
  double max_error_over_bound() const { return max_error_over_bound_; }
  double max_rms_over_limit() const { return max_rms_over_limit_; }
  const std::string& method() const { return method_; }

 private:
  struct Slot {
    const declaration::ArrayDeclaration* array = nullptr;
    std::vector<std::int64_t> shape;
    std::int64_t cells = 0;
    // Places in the memory; what an array does not have is empty there.
    std::size_t contents = 0, result = 0, truth = 0, magnitude = 0;
    bool has_magnitude = false;
    // What is the same in every run: of a file, of a graph; null: nothing.
    std::shared_ptr<const std::vector<std::byte>> fixed;
  };
  const Slot& slot(const declaration::ArrayDeclaration& array) const;
  std::span<std::byte> part(std::size_t at, std::size_t bytes) const;
  void read_fixed(Slot& slot, const std::filesystem::path& graph) const;
  void draw(const Slot& slot, std::uint64_t seed, int threads);
  std::uint64_t seed_of(const Slot& slot, std::uint64_t seed) const;
  const declaration::Draws& draws_of(const declaration::ArrayDeclaration& array, std::uint64_t seed) const;
  static std::int64_t row_of(const Slot& slot);
  nlohmann::json values_json() const;
  nlohmann::json entry(const Slot& slot, std::size_t at, bool as_truth, const std::string& name) const;
  nlohmann::json inputs_json() const;
  std::optional<Finding> compare_output(const Slot& slot);
  std::optional<Finding> ask_script();

  const declaration::LabDeclaration& lab_;
  const Case& case_;
  OracleProcess& oracle_;
  int threads_;
  Drawer drawer_;
  std::size_t shared_bytes_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::int64_t> scalars_;
  std::int64_t cells_checked_ = 0;
  double max_error_over_bound_ = 0, max_rms_over_limit_ = 0;
  std::string method_;
};

}  // namespace warpgrade::declared
