// `warpgrade labs new NAME`, `pages NAME`, `contract NAME`.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/say.h"
#include "base/toolchain.h"
#include "cli/lab_commands.h"
#include "judge/declaration/contract.h"
#include "judge/declaration/python_contract.h"
#include "judge/labs/registry.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

using declaration::LabDeclaration;

constexpr const char* kLabFile =
    R"yaml(# reference/README.md explains every key. Change what you need, then: warpgrade labs verify @NAME@
schema: warpgrade.lab.v1
name: @NAME@
summary: every number doubled
parameters: {n: int}
arrays:
  in: {type: fp32, shape: [n], draw: {uniform: [-1, 1]}}
  out: {type: fp32, shape: [n], role: output}
call: "cudaError_t @NAME@_run(const float* in, int n, float* out, cudaStream_t stream)"
truth: oracle.py
check: {relative: 1.0e-6}
work: {bytes: 8*n, items: n}
terms: {width: n, work: numbers}
cases:
  - {id: one, n: 1, why: one number}
  - {id: odd, n: 1000, why: a count that no block divides}
  - {id: even, n: 4096, why: a count that blocks divide}
  - {id: million, n: 1000000, kind: speed, why: a million}
)yaml";

constexpr const char* kOracle = R"("""The trusted answer of the lab @NAME@, in NumPy."""


def @NAME@(in_, n):
    """Arguments have the names of lab.yaml; `in_` stands for `in`, which is a word of Python's own."""
    return 2.0 * in_.astype("float64")
)";

constexpr const char* kKernel = R"(// @TITLE@
#include "warpgrade/@NAME@.h"

namespace {

constexpr int kThreads = 256;

__global__ void @NAME@_kernel(const float* in, int n, float* out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}

}  // namespace

cudaError_t @NAME@_run(const float* in, int n, float* out, cudaStream_t stream) {
  const int blocks = @BLOCKS@;
  if (blocks > 0) @NAME@_kernel<<<blocks, kThreads, 0, stream>>>(in, n, out);
  return cudaGetLastError();
}
)";

constexpr const char* kReference = R"(# Lab @NAME@: the solutions

| folder | what |
|---|---|
| `lab.yaml` | the lab: arrays, call, checks, cases |
| `oracle.py` | the trusted answer |
| `naive/` | a thread a number |
| `wrong/` | submissions that must be refused; a folder's name begins with the verdict, else that is `wrong_answer` |
)";

constexpr const char* kPage = R"(# Lab @NAME@

Double every number: `out[i] = 2 * in[i]`.

## What to write

Fill [`@NAME@.cu`](@NAME@.cu). `make contract LAB=@NAME@` prints the contract.

## How to try it

```
make test LAB=@NAME@                     every public case
make test LAB=@NAME@ CASE=odd            one case
make test LAB=@NAME@ BACKEND=emulator    on the CPU, without a GPU
```
)";

constexpr const char* kPolicy =
    R"(# What the lab `@NAME@` is worth. grader/policies/README.md explains every key.
schema: warpgrade.policy.v1
name: @NAME@
lab: @NAME@
baseline: naive
secret_baselines: [naive]         # measured against, but not in the hand-out

points: {correctness: 40, speed: 60, gate: correct}
within_noise: pass
partial: {from: 0.5}
limits:
  compile_s: 120
  run_s: {cuda: 30, emulator: 60}

# After `warpgrade calibrate` on your GPU:
# thresholds:
#   million: {1000000: 1.0}
)";

std::string filled(std::string text, const std::map<std::string, std::string>& words) {
  for (const auto& [name, value] : words) {
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
      text.replace(at, name.size(), value);
  }
  return text;
}

bool is_lab_name(const std::string& name) {
  const auto fits = [](char c) {
    return (std::islower(static_cast<unsigned char>(c)) != 0) ||
           std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !name.empty() && name.size() <= 24 && std::islower(static_cast<unsigned char>(name[0])) != 0 &&
         std::all_of(name.begin(), name.end(), fits);
}

// The new files, by path below the project.
std::map<fs::path, std::string> files_of(const std::string& name) {
  const auto text = [&](const char* from, const std::string& title = "", const std::string& blocks = "") {
    return filled(from, {{"@NAME@", name}, {"@TITLE@", title}, {"@BLOCKS@", blocks}});
  };
  const fs::path reference = fs::path("reference") / name, student = fs::path("student") / name;
  return {{reference / "lab.yaml", text(kLabFile)},
          {reference / "oracle.py", text(kOracle)},
          {reference / "README.md", text(kReference)},
          {reference / "naive" / (name + ".cu"),
           text(kKernel, "Naive: a thread a number.", "(n + kThreads - 1) / kThreads")},
          {reference / "wrong/last_block_missing" / (name + ".cu"),
           text(kKernel, "Wrong: a last block that is not full never runs.", "n / kThreads")},
          {student / "README.md", text(kPage)},
          {fs::path("grader/policies") / (name + ".yaml"), text(kPolicy)}};
}

LabDeclaration declared_lab(const std::string& name) {
  find_lab(name);  // says what is wrong with the file, or which labs there are
  auto lab = declaration::find_declaration(name);
  if (!lab)
    throw UsageError(
        "lab {} is written in C++ (grader/judge/labs/{}): there is no lab.yaml to make this from", name,
        name);
  return std::move(*lab);
}

// Writes the stub, unless a student's or a teacher's work is there.
void make_stub(const fs::path& file, const std::string& stub,
               const std::function<bool(const std::string&)>& is_unfilled) {
  if (fs::exists(file) && !is_unfilled(read_text(file))) {
    tell("{} is written, and stays as it is: move it away to have the stub anew\n", file.string());
    return;
  }
  write_text(file, stub);
  tell("wrote {}\n", file.string());
}

void make_python_stub(const fs::path& student, const std::string& lab) {
  if (const auto contract = declaration::find_python_contract(lab))
    make_stub(student / (lab + ".py"), declaration::python_stub(*contract),
              [&](const std::string& text) { return declaration::is_unfilled_python(text, *contract); });
}

}  // namespace

int new_lab(const std::string& name) {
  if (!is_lab_name(name))
    throw UsageError(
        "'{}' cannot be a lab's name: use lower-case letters, digits and _, at most 24 characters, with a "
        "letter first",
        name);
  for (const Lab* lab : labs())
    if (lab->name() == name) throw UsageError("there is a lab {} already: choose another name", name);
  const auto files = files_of(name);
  for (const auto& [path, text] : files) {
    if (fs::exists(project_root() / path))
      throw UsageError("{} is there already: move it away, or choose another name",
                       (project_root() / path).string());
  }
  std::vector<fs::path> written;
  try {
    for (const auto& [path, text] : files) {
      make_directories((project_root() / path).parent_path());
      write_text(project_root() / path, text);
      written.push_back(project_root() / path);
    }
    const fs::path file = declaration::declaration_file(name);
    const LabDeclaration lab = declaration::parse_lab(read_text(file), file);
    const fs::path student = project_root() / "student" / name;
    write_text(student / (name + ".cu"), declaration::student_stub(lab));
    write_text(student / "README.md", declaration::with_case_table(read_text(student / "README.md"), lab));
  } catch (...) {
    for (const fs::path& path : written) fs::remove(path);
    throw;
  }
  tell(
      "wrote the lab {0}:\n  reference/{0}/   lab.yaml, oracle.py, naive/, wrong/\n"
      "  student/{0}/     the stub and the page that students get\n  grader/policies/{0}.yaml\n"
      "Change lab.yaml and oracle.py to what you want, then:\n"
      "  {1} labs pages {0}     makes the stub and the table of cases anew\n"
      "  {1} labs verify {0}    proves the lab before a class sees it\n",
      name, own_command());
  return kExitGraded;
}

int make_lab_pages(const std::string& name) {
  find_lab(name);
  const fs::path student = project_root() / "student" / name, page = student / "README.md";
  if (!declaration::find_declaration(name) && declaration::find_python_contract(name)) {
    make_python_stub(student, name);  // the rest of a written lab's pages is written, too
    return kExitGraded;
  }
  const LabDeclaration lab = declared_lab(name);
  make_directories(student);
  make_stub(student / (name + ".cu"), declaration::student_stub(lab), declaration::is_unfilled_cuda);
  make_python_stub(student, name);
  const std::string before =
      fs::exists(page) ? read_text(page) : fmt::format("# Lab {}\n\n{}.\n", name, lab.summary);
  write_text(page, declaration::with_case_table(before, lab));
  tell("wrote the table of cases in {}\n", page.string());
  return kExitGraded;
}

int print_contract(const std::string& name) {
  find_lab(name);
  if (const auto lab = declaration::find_declaration(name)) {
    fmt::print("{}", declaration::contract_header(*lab));
    return kExitGraded;
  }
  fmt::print("{}", read_text(project_root() / "reference/include/warpgrade" / (name + ".h")));
  return kExitGraded;
}

}  // namespace warpgrade
