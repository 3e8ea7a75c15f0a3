// warpgrade-synth: `warpgrade data synth` on a GPU. A program of its own, so that the commands start
// without CUDA.
//
//   warpgrade-synth SPEC.json OUTPUT.npz [--cpu]      NAME and SOURCE of the dataset in the environment
//
// Prints one line: entries, hash, and seconds of tables, drawing, and hash and write. Exit status 1 with a
// message when it can't. --cpu draws on the cores, for comparison.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "standin_cuda.h"
#include "standin_tables.h"
#include "warpgrade/datasets/csr_file.h"
#include "warpgrade/datasets/standin.h"

namespace {

using namespace warpgrade::datasets;

double lap(std::chrono::steady_clock::time_point& since) {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - since).count();
  since = now;
  return seconds;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

void synth(const char* spec_file, const char* output, bool on_cpu) {
  auto since = std::chrono::steady_clock::now();
  const StandInSpec spec = read_spec(spec_file);
  Csr matrix;
  double tables_s = 0;
  if (on_cpu) {
    matrix = generate_standin(spec);
  } else {
    const HostTables tables(spec);
    matrix.rows = matrix.cols = spec.n;
    matrix.row_offsets = tables.row_offsets();
    matrix.columns.resize(static_cast<std::size_t>(spec.nnz));
    matrix.values.resize(static_cast<std::size_t>(spec.nnz));
    tables_s = lap(since);
    draw_on_gpu(tables.view(), matrix.columns.data(), matrix.values.data());
  }
  const double draw_s = lap(since);
  const std::string hash =
      write_csr(output, matrix, {environment("NAME"), environment("SOURCE"), kStandInVersion});
  const double write_s = lap(since);
  fmt::print(
      "{}: {} entries, {}, hash {}\nseconds on the {}: tables {:.2f}, draw {:.2f}, hash and write {:.2f}\n",
      output, spec.nnz, kStandInVersion, hash, on_cpu ? "CPU" : "GPU", tables_s, draw_s, write_s);
}

}  // namespace

// Words that cannot be written (a full disk) are lost: fmt::print would throw, and end the program by a signal.
int main(int argc, char** argv) {
  const bool on_cpu = argc == 4 && std::strcmp(argv[3], "--cpu") == 0;
  if (argc != 3 && !on_cpu) {
    std::fputs("usage: warpgrade-synth SPEC.json OUTPUT.npz [--cpu]\n", stderr);
    return 2;
  }
  try {
    synth(argv[1], argv[2], on_cpu);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
