// lab.yaml, read: every mistake is told with its file, line and key.
#include <algorithm>
#include <cctype>
#include <limits>
#include <stdexcept>

#include "base/files.h"
#include "base/toolchain.h"
#include "base/yaml_place.h"
#include "judge/declaration/lab_declaration.h"
#include "judge/declaration/lab_words.h"
#include "judge/declaration/read_draw.h"
#include "judge/declaration/signature.h"

namespace warpgrade::declaration {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMostHardInputs = 8;
constexpr std::size_t kMostNumbers = 8;  // of a command's arguments (judge/protocol/protocol.h)
constexpr std::size_t kMostArrays = 12;
constexpr std::size_t kLongestName = 31;  // of a buffer (judge/protocol/protocol.h)

bool is_identifier(const std::string& text) {
  const auto fits = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !text.empty() && text.size() <= kLongestName &&
         std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), fits);
}

Expression read_expression(const YamlPlace& place, const std::set<std::string>& known) {
  try {
    Expression expression(place.text());
    for (const std::string& name : expression.names()) {
      if (!known.contains(name))
        place.refuse(
            fmt::format("no parameter {} in '{}'{}", name, expression.text(), YamlPlace::meant(name, known)));
    }
    return expression;
  } catch (const std::invalid_argument& error) {
    place.refuse(error.what());
  }
}

class Reader {
 public:
  Reader(const std::string& text, const fs::path& file)
      : file_(file), root_(YamlPlace::parse(text, file.string())) {}
  explicit Reader(const YamlPlace& written) : root_(written), is_written_(true) {}

  LabDeclaration read_call_alone(const std::string& name, const std::string& summary) {
    lab_.name = name;
    lab_.summary = summary;
    read_numbers(root_["parameters"], lab_.parameters, false);
    read_arrays();
    return std::move(lab_);
  }

  LabDeclaration read() {
    root_.only({"schema", "name", "summary", "parameters", "scalars", "structures", "arrays", "call", "truth",
                "second_truth", "device_truth", "check", "work", "terms", "baselines", "hard", "cases",
                "runs", "limits"});
    lab_.folder = file_.parent_path();
    lab_.name = read_lab_name(root_, lab_.folder);
    if (!is_identifier(lab_.name)) root_["name"].fail("letters, digits and _");
    lab_.summary = root_["summary"].text();
    lab_.runs = root_["runs"].defined() ? static_cast<int>(root_["runs"].whole(1, 100)) : 3;
    const YamlPlace limits = root_["limits"];
    limits.only({"oracle_s", "oracle_memory_mb"});
    lab_.oracle_s = limits["oracle_s"].number_or(60, 0.1, 86400);
    lab_.oracle_memory_mb = static_cast<std::size_t>(limits["oracle_memory_mb"].number_or(8192, 64, 1 << 24));
    read_structures();
    read_numbers(root_["parameters"], lab_.parameters, false);
    read_numbers(root_["scalars"], lab_.scalars, true);
    read_arrays();
    read_call();
    read_truth();
    read_checks();
    read_work();
    read_terms();
    lab_.baselines = read_baselines(root_["baselines"], lab_.folder);
    read_hard_inputs();
    read_cases();
    return std::move(lab_);
  }

 private:
  // A name that is new in this lab.
  void take_name(const YamlPlace& place, const std::string& name) {
    static const std::set<std::string> kTaken = {"plan", "stream"};
    if (!is_identifier(name))
      place.refuse(
          fmt::format("expected a name of letters, digits and _, of {} characters at most", kLongestName));
    if (kTaken.contains(name)) place.refuse("this name is the contract's own: choose another one");
    if (!names_.insert(name).second) place.refuse("this name stands for something else in this lab already");
  }

  std::set<std::string> scalar_names() const {
    std::set<std::string> names{"int"};
    for (const Scalar type : all_scalars()) names.insert(facts(type).name);
    return names;
  }
  static Scalar scalar_named(const std::string& name) {
    if (name == "int") return Scalar::kInt32;
    for (const Scalar type : all_scalars())
      if (name == facts(type).name) return type;
    throw JudgeFault("no type {}", name);
  }

  void read_structures() {
    if (!root_["structures"].defined()) return;
    for (const auto& [name, place] : root_["structures"].entries()) {
      take_name(place, name);
      std::vector<Field> fields;
      for (const auto& [field, type] : place.entries()) {
        if (!is_identifier(field)) type.refuse("expected a name of letters, digits and _");
        fields.push_back({field, scalar_named(type.word(scalar_names())), 0});
      }
      if (fields.empty()) place.fail("fields, for instance {x: fp32, id: int32}");
      lab_.structures.push_back(structure_of(name, std::move(fields)));
    }
  }

  void read_numbers(const YamlPlace& place, std::vector<NumberDeclaration>& numbers, bool drawn) {
    if (!place.defined()) return;
    for (const auto& [name, item] : place.entries()) {
      take_name(item, name);
      NumberDeclaration number;
      number.name = name;
      YamlPlace type = item;
      if (item.is_map()) {
        item.only(drawn ? std::set<std::string>{"type", "about", "draw"}
                        : std::set<std::string>{"type", "about"});
        type = item["type"];
        number.about = item["about"].text_or("");
      }
      number.type = scalar_named(type.word(scalar_names()));
      if (drawn) number.draw = read_number_draw(item.is_map() ? item["draw"] : root_["none"], number.type);
      numbers.push_back(std::move(number));
    }
    if (numbers.size() > kMostNumbers)
      place.refuse(fmt::format("{} are the most that there may be", kMostNumbers));
  }

  std::set<std::string> whole_parameters() const {
    std::set<std::string> names;
    for (const NumberDeclaration& parameter : lab_.parameters)
      if (!facts(parameter.type).is_float) names.insert(parameter.name);
    return names;
  }
  std::set<std::string> all_parameters() const {
    std::set<std::string> names;
    for (const NumberDeclaration& parameter : lab_.parameters) names.insert(parameter.name);
    return names;
  }

  ElementType element_named(const YamlPlace& place) const {
    std::set<std::string> known = scalar_names();
    for (const ElementType& structure : lab_.structures) known.insert(structure.name);
    const std::string name = place.word(known);
    for (const ElementType& structure : lab_.structures)
      if (structure.name == name) return structure;
    return element_of(scalar_named(name));
  }

  void read_arrays() {
    const YamlPlace arrays = root_["arrays"];
    if (!arrays.is_map()) arrays.fail("a map from name to {type, shape, ...}");
    for (const auto& [name, place] : arrays.entries()) {
      take_name(place, name);
      place.only(is_written_ ? std::set<std::string>{"type", "shape", "role", "about", "buffer"}
                             : std::set<std::string>{"type", "shape", "role", "draw", "seen_by", "about"});
      ArrayDeclaration array;
      array.name = name;
      array.about = place["about"].text_or("");
      array.buffer = place["buffer"].text_or("");
      array.type = element_named(place["type"]);
      for (const YamlPlace& extent :
           place["shape"].items("a list of expressions, for instance [n] or [rows, k]"))
        array.shape.push_back(read_expression(extent, whole_parameters()));
      const std::string role = place["role"].word_or("input", {"input", "output", "in_place"});
      array.role = role == "input" ? Role::kInput : role == "output" ? Role::kOutput : Role::kInPlace;
      array.seen_by_plan = place["seen_by"].word_or("run", {"run", "plan"}) == "plan";
      if (array.seen_by_plan && array.role != Role::kInput)
        place["seen_by"].refuse("only an input can be seen by the plan");
      if (array.role == Role::kOutput) {
        if (place["draw"].defined())
          place["draw"].refuse("an output is not drawn; say `role: in_place` for what is both");
      } else if (!is_written_) {
        array.draws = read_draws(place["draw"], array.type, lab_.folder);
      }
      lab_.arrays.push_back(std::move(array));
    }
    if (lab_.outputs().empty()) arrays.refuse("no array has `role: output` or `role: in_place`");
    if (lab_.arrays.size() > kMostArrays)
      arrays.refuse(fmt::format("{} are the most that there may be", kMostArrays));
  }

  // ---- the call ----

  void read_call() {
    const YamlPlace place = root_["call"];
    Signature signature;
    try {
      signature = parse_signature(place.text());
    } catch (const std::invalid_argument& error) {
      place.refuse(error.what());
    }
    if (signature.returns != "cudaError_t")
      place.refuse("expected cudaError_t as what it returns, got " + signature.returns);
    if (signature.function != lab_.name + "_run")
      place.refuse(
          fmt::format("expected {}_run as the function's name, got {}", lab_.name, signature.function));
    std::set<std::string> seen;
    for (const Signature::Argument& argument : signature.arguments) {
      if (!seen.insert(argument.name).second)
        place.refuse(fmt::format("{} stands there twice", argument.name));
      lab_.call.push_back(classify(place, argument));
    }
    if (lab_.call.empty() || lab_.call.back().kind != CallArgument::Kind::kStream)
      place.refuse("expected `cudaStream_t stream` as the last argument: kernels are launched on it");
    require_all_in_call(place, seen);
  }

  void require_all_in_call(const YamlPlace& place, const std::set<std::string>& seen) const {
    for (const ArrayDeclaration& array : lab_.arrays) {
      if (!seen.contains(array.name) && !array.seen_by_plan)
        place.refuse(fmt::format("the array {} is no argument of it", array.name));
      if (array.seen_by_plan && lab_.plan_type.empty())
        place.refuse(fmt::format("{} is `seen_by: plan`, and the call has no plan (`{} plan`)", array.name,
                                 "MyPlan*"));
    }
    for (const auto* numbers : {&lab_.parameters, &lab_.scalars})
      for (const NumberDeclaration& number : *numbers)
        if (!seen.contains(number.name)) place.refuse(fmt::format("{} is no argument of it", number.name));
  }

  CallArgument classify(const YamlPlace& place, const Signature::Argument& argument) {
    CallArgument result{argument.type, argument.name, CallArgument::Kind::kStream};
    const auto want = [&](const std::string& type) {
      if (argument.type != type)
        place.refuse(fmt::format("{}: expected the type {}, got {}", argument.name, type, argument.type));
    };
    if (argument.name == "stream") {
      want("cudaStream_t");
      return result;
    }
    if (argument.name == "plan") {
      std::string type = argument.type;
      if (type.empty() || type.back() != '*' || !is_identifier(type.substr(0, type.size() - 1)))
        place.refuse(
            "plan: expected a pointer to a structure of the submission's own, for instance `ScanPlan* plan`");
      lab_.plan_type = type.substr(0, type.size() - 1);
      result.kind = CallArgument::Kind::kPlan;
      return result;
    }
    if (const ArrayDeclaration* array = lab_.array(argument.name)) {
      result.kind = CallArgument::Kind::kArray;
      check_pointer(place, argument, *array);
      return result;
    }
    for (const auto& [numbers, kind] : {std::pair{&lab_.parameters, CallArgument::Kind::kParameter},
                                        std::pair{&lab_.scalars, CallArgument::Kind::kScalar}}) {
      for (const NumberDeclaration& number : *numbers) {
        if (number.name != argument.name) continue;
        if (!element_of(number.type).is_spelled(argument.type)) want(facts(number.type).c_type);
        result.kind = kind;
        return result;
      }
    }
    place.refuse(fmt::format("{} is no array, parameter or scalar of this lab{}", argument.name,
                             YamlPlace::meant(argument.name, names_)));
  }

  static void check_pointer(const YamlPlace& place, const Signature::Argument& argument,
                            const ArrayDeclaration& array) {
    const std::string prefix = array.role == Role::kInput ? "const " : "";
    const std::string expected = prefix + array.type.c_type() + "*";
    const bool fits = argument.type.starts_with(prefix) && argument.type.ends_with("*") &&
                      array.type.is_spelled(argument.type.substr(
                          prefix.size(), argument.type.size() - prefix.size() -
                                             std::min<std::size_t>(1, argument.type.size())));
    if (!fits)
      place.refuse(fmt::format("{}: expected the type {}, got {}", array.name, expected, argument.type));
  }

  // ---- truth, checks, work ----

  std::string read_script(const YamlPlace& place, const std::set<std::string>& extensions) const {
    const std::string name = place.text();
    const fs::path path(name);
    if (path.has_parent_path() || !extensions.contains(path.extension().string()))
      place.fail(fmt::format("a file of the lab's folder that ends in {}", fmt::join(extensions, " or ")));
    read_path_below(place, lab_.folder);
    if (!fs::is_regular_file(lab_.folder / path))
      place.refuse(fmt::format("{} is not there", (lab_.folder / path).string()));
    return name;
  }

  void read_truth() {
    lab_.truth = read_oracle(root_["truth"]);
    if (root_["second_truth"].defined()) lab_.second_truth = read_oracle(root_["second_truth"]);
    if (root_["device_truth"].defined())
      lab_.device_truth = read_path_below(root_["device_truth"], lab_.folder);
  }

  std::string read_oracle(const YamlPlace& place) const {
    if (place.is_scalar() && place.text().ends_with(".cu"))
      place.refuse("an oracle on the GPU stands beside the one on the host: `device_truth: FOLDER`, and " +
                   lab_.name + ".cu in that folder");
    const std::string name = read_script(place, {".py", ".cpp"});
    if (name.ends_with(".cpp") && !lab_.structures.empty())
      place.refuse("structures are for an oracle in Python: oracle.cpp gets arrays of numbers alone");
    return name;
  }

  Check read_check(const YamlPlace& place) {
    Check check;
    if (place.is_scalar()) {
      place.word({"exact"});
      return check;
    }
    place.only({"absolute", "relative", "ulps", "bound", "rms", "magnitude", "script"});
    const auto has = [&](const char* key) { return place[key].defined(); };
    const int kinds = (has("absolute") || has("relative") ? 1 : 0) + (has("ulps") ? 1 : 0) +
                      (has("bound") ? 1 : 0) + (has("script") ? 1 : 0);
    if (kinds != 1) place.fail("exact, or one of {absolute: , relative: }, {ulps: }, {bound: }, {script: }");
    for (const char* beside : {"rms", "magnitude"})
      if (has(beside) && !has("bound")) place[beside].refuse("it stands beside bound");
    if (has("ulps")) {
      check.kind = CheckKind::kUlps;
      check.ulps = place["ulps"].whole(0, std::int64_t{1} << 52);
    } else if (has("bound")) {
      check.kind = CheckKind::kBound;
      check.factor = place["bound"].number(0, 1e12);
      if (has("rms")) check.rms = place["rms"].number(1e-3, 1e12);
      if (has("magnitude")) read_magnitude(place["magnitude"], check);
    } else if (has("script")) {
      check.kind = CheckKind::kScript;
      const std::string script = read_script(place["script"], {".py"});
      if (lab_.truth.ends_with(".cpp"))
        place["script"].refuse("a check script needs an oracle in Python, too");
      if (!lab_.check_script.empty() && lab_.check_script != script)
        place["script"].fail("one script for the whole lab, " + lab_.check_script);
      lab_.check_script = script;
    } else {
      check.kind = CheckKind::kTolerance;
      check.absolute = place["absolute"].number_or(0, 0, 1e300);
      check.relative = place["relative"].number_or(0, 0, 1);
    }
    return check;
  }

  void read_magnitude(const YamlPlace& place, Check& check) {
    place.word({"absolute_inputs"});
    check.magnitude_of_absolutes = true;
    for (const ArrayDeclaration& array : lab_.arrays)
      if (array.type.is_structure || array.seen_by_plan || array.role == Role::kInPlace)
        place.refuse(
            "a run alone sees the inputs, they are plain numbers, and none is worked on in place; not so " +
            array.name);
  }

  void read_checks() {
    const YamlPlace place = root_["check"];
    if (!place.defined())
      place.fail("exact, {relative: 1e-5}, or another check; reference/README.md lists them");
    std::set<std::string> outputs;
    for (const ArrayDeclaration* output : lab_.outputs()) outputs.insert(output->name);
    const bool by_output =
        place.is_map() && !place.entries().empty() && outputs.contains(place.entries().front().first);
    if (by_output) place.only(outputs);
    for (const ArrayDeclaration* output : lab_.outputs()) {
      const YamlPlace at = by_output ? place[output->name] : place;
      if (!at.defined()) at.fail("a check of this output");
      const Check check = read_check(at);
      const bool has_float = std::any_of(output->type.fields.begin(), output->type.fields.end(),
                                         [](const Field& field) { return facts(field.type).is_float; });
      const bool needs_float = check.kind == CheckKind::kUlps || check.kind == CheckKind::kBound ||
                               check.kind == CheckKind::kTolerance;
      if (needs_float && !has_float) at.fail(fmt::format("exact: {} holds whole numbers", output->name));
      lab_.checks[output->name] = check;
    }
  }

  void read_work() {
    const YamlPlace work = root_["work"];
    work.only({"bytes", "flop", "unit", "items", "naive_steps"});
    const auto read = [&](const char* key, std::optional<Expression>& into) {
      if (work[key].defined()) into = read_expression(work[key], all_parameters());
    };
    read("bytes", lab_.work.bytes);
    read("flop", lab_.work.flop);
    if (work["unit"].defined()) {
      const std::string unit =
          work["unit"].word(std::set<std::string>(units::kAll.begin(), units::kAll.end()));
      lab_.work.unit = *std::ranges::find(units::kAll, unit);
    }
    read("items", lab_.work.items);
    read("naive_steps", lab_.work.naive_steps);
  }

  void read_terms() {
    const YamlPlace terms = root_["terms"];
    terms.only({"width", "work", "ladder"});
    if (terms["width"].defined()) lab_.width = terms["width"].word(whole_parameters());
    lab_.work_name = terms["work"].text_or(lab_.work.items ? "cells" : lab_.work.flop ? "flop" : "bytes");
    lab_.ladder = terms["ladder"].text_or("");
  }

  // ---- hard inputs ----

  void read_hard_inputs() {
    const YamlPlace place = root_["hard"];
    if (!place.defined()) return;
    std::set<std::string> ids;
    for (const YamlPlace& item :
         place.items("a list, for instance [{id: equal, draw: {in: {constant: 5}}, why: equal numbers}]")) {
      item.only({"id", "draw", "why"});
      HardInputs hard;
      hard.id = read_case_id(item["id"]);
      if (!ids.insert(hard.id).second) item["id"].refuse("other hard inputs have this id");
      hard.why = item["why"].text();
      hard.draws = read_draws_by_array(item["draw"], lab_);
      if (hard.draws.empty()) item["draw"].fail("how an array is drawn, for instance {in: {constant: 5}}");
      for (const auto& [name, draws] : hard.draws) check_hard_draw(item["draw"][name], name, draws);
      lab_.hard.push_back(std::move(hard));
    }
    if (lab_.hard.size() > kMostHardInputs)
      place.refuse(
          fmt::format("{} are the most that there may be: each is one checked run more", kMostHardInputs));
  }

  void check_hard_draw(const YamlPlace& place, const std::string& name, const Draws& draws) const {
    if (lab_.array(name)->seen_by_plan)
      place.refuse("it is drawn once a plan; hard inputs are drawn for a run");
    const DrawKind kind = draws.front().kind;
    if (kind == DrawKind::kNpy || kind == DrawKind::kCsr)
      place.refuse("expected a way of drawing: a file or a graph is the same in every run");
  }

  // ---- cases ----

  void read_cases() {
    const YamlPlace cases = root_["cases"];
    std::set<std::string> ids, datasets;
    for (const YamlPlace& place : cases.items("a list, for instance [{id: one, n: 1, why: one number}]")) {
      if (place["kind"].text_or("") == "speed" && !lab_.work.bytes)
        root_["work"]["bytes"].fail(
            "the bytes that no program can do without moving, since there are speed cases");
      for (Case& c : read_case_item(place, lab_)) {
        datasets.insert(c.dataset);
        if (!ids.insert(c.id).second) place["id"].refuse("another case has this id");
        lab_.cases.push_back(std::move(c));
      }
    }
    if (lab_.cases.empty()) cases.fail("at least one case");
    if (!lab_.ladder.empty() && !datasets.contains(lab_.ladder))
      root_["terms"]["ladder"].fail("the dataset of a case" + YamlPlace::meant(lab_.ladder, datasets));
  }

  fs::path file_;
  YamlPlace root_;
  LabDeclaration lab_;
  std::set<std::string> names_;
  bool is_written_ = false;
};

}  // namespace

LabDeclaration read_written_call(const YamlPlace& python, const std::string& name,
                                 const std::string& summary) {
  return Reader(python).read_call_alone(name, summary);
}

LabDeclaration parse_lab(const std::string& text, const fs::path& file) {
  return Reader(text, file).read();
}

}  // namespace warpgrade::declaration
