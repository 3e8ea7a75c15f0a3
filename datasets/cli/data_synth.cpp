// `warpgrade data synth`: a stand-in written to a file, from the catalogue, from parameters or after a
// real graph.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "base/say.h"
#include "commands.h"
#include "matrix_argument.h"
#include "synth_program.h"
#include "warpgrade/datasets/cache.h"
#include "warpgrade/datasets/catalog.h"
#include "warpgrade/datasets/fit.h"
#include "warpgrade/datasets/generate.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

struct SynthArguments {
  std::string name, like;
  fs::path spec, output;
  std::string family = "standin", device = "auto";
  std::uint64_t seed = 0;
  int threads = 0;
};

class Clock {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - since_).count();
    since_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

StandInSpec spec_of(const DataCommandContext& context, const SynthArguments& arguments, Origin& origin) {
  if (!arguments.spec.empty()) {
    // Not the graph's own name, which is the real graph's.
    origin = {arguments.spec.stem().string() + ".standin",
              "stand-in by " + arguments.spec.filename().string(), kStandInVersion};
    return read_spec(arguments.spec);
  }
  if (!arguments.name.empty()) {
    const Catalog catalog = Catalog::load(context.catalog_file);
    const std::size_t at = arguments.name.find('@');
    const bool versioned = arguments.name.find("@v2") != std::string::npos;
    const std::string name = versioned ? arguments.name
                                       : arguments.name.substr(0, at) + "@v2" +
                                             (at == std::string::npos ? "" : arguments.name.substr(at));
    const DatasetInfo info = catalog.find(name);
    origin = {info.name, "stand-in for " + info.source, kStandInVersion};
    return *info.standin;
  }
  const MatrixArgument real(context, arguments.like);
  origin = {real.name() + ".standin", "stand-in fitted to " + real.name(), kStandInVersion};
  return fit_standin(real.row_offsets(), real.columns()).spec;
}

// On a GPU where that is asked for, or possible: whether it is done.
bool synth_on_gpu(const SynthArguments& arguments, const StandInSpec& spec, const Origin& origin,
                  const fs::path& output) {
  if (arguments.device == "cpu" || (arguments.device == "auto" && !has_gpu())) return false;
  const std::optional<fs::path> program = synth_program();
  if (program && run_synth_program(*program, spec, origin, output)) return true;
  if (arguments.device == "gpu")
    throw DatasetError("{}",
                       program ? "the GPU could not; --device cpu makes the same bytes"
                               : "warpgrade-synth is not beside this program: build it, or say --device cpu");
  say("warpgrade-synth {}: the cores make the same bytes\n", program ? "could not" : "is not built");
  return false;
}

// Where `data info NAME` finds it; parameters of one's own, or another seed, have a name of their own.
std::string cache_name(const SynthArguments& arguments, const Origin& origin) {
  if (arguments.seed != 0) return fmt::format("{}.seed-{}", origin.name, arguments.seed);
  return arguments.name.empty() ? origin.name : origin.name + "." + origin.generator;
}

void make_folder_of(const fs::path& file) {
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
}

bool store_from_gpu(const DataCommandContext& context, const SynthArguments& arguments,
                    const StandInSpec& spec, const Origin& origin) {
  if (!arguments.output.empty()) {
    make_folder_of(arguments.output);
    return synth_on_gpu(arguments, spec, origin, arguments.output);
  }
  const Cache cache(context.cache_directory);
  const fs::path made = cache.downloads() / fmt::format("synth-{}.npz", getpid());
  make_folder_of(made);
  if (!synth_on_gpu(arguments, spec, origin, made)) return false;
  const std::string name = cache_name(arguments, origin);
  const FileLock lock = cache.lock(name);
  fmt::print("cached as {}\n", cache.adopt(name, made).string());
  return true;
}

fs::path store(const DataCommandContext& context, const SynthArguments& arguments, const Csr& matrix,
               const Origin& origin) {
  if (!arguments.output.empty()) {
    make_folder_of(arguments.output);
    write_csr(arguments.output, matrix, origin);
    return arguments.output;
  }
  const Cache cache(context.cache_directory);
  const std::string name = cache_name(arguments, origin);
  const FileLock lock = cache.lock(name);
  return cache.put(name, matrix, origin);
}

void synth(const DataCommandContext& context, const SynthArguments& arguments) {
  const int sources =
      (arguments.name.empty() ? 0 : 1) + (arguments.spec.empty() ? 0 : 1) + (arguments.like.empty() ? 0 : 1);
  if (sources != 1) throw DatasetError("data synth: expected one of NAME, --spec FILE and --like GRAPH");
  Clock clock;
  Origin origin;
  Csr matrix;
  double parameters_s = 0;
  if (arguments.family == "powerlaw") {
    const Catalog catalog = Catalog::load(context.catalog_file);
    const DatasetInfo info = catalog.find(arguments.name);
    if (!info.powerlaw) throw DatasetError("{} is no stand-in with a power law", arguments.name);
    PowerlawSpec spec = *info.powerlaw;
    if (arguments.seed != 0) spec.seed = arguments.seed;
    origin = {info.name, "stand-in for " + info.source, kGeneratorVersion};
    parameters_s = clock.lap();
    matrix = generate_powerlaw(spec, arguments.threads);
  } else {
    StandInSpec spec = spec_of(context, arguments, origin);
    if (arguments.seed != 0) spec.seed = arguments.seed;
    parameters_s = clock.lap();
    if (store_from_gpu(context, arguments, spec, origin)) return;
    matrix = generate_standin(spec, arguments.threads);
  }
  const double generate_s = clock.lap();
  const fs::path output = store(context, arguments, matrix, origin);
  const double write_s = clock.lap();
  fmt::print("{}: {} x {}, {} entries, {}, hash {}\n", output.string(), matrix.rows, matrix.cols,
             matrix.nnz(), origin.generator, CsrFile::open(output).content_hash());
  fmt::print(
      "seconds: parameters {:.2f}, generate {:.2f} ({:.1f} M entries/s), hash and write {:.2f}, all {:.2f}\n",
      parameters_s, generate_s, static_cast<double>(matrix.nnz()) / 1e6 / generate_s, write_s,
      parameters_s + generate_s + write_s);
}

}  // namespace

void add_data_synth(CLI::App& data, DataCommandContext& context) {
  const auto arguments = std::make_shared<SynthArguments>();
  CLI::App* command =
      data.add_subcommand("synth", "generate a stand-in: of the catalogue, by parameters, or like a graph");
  command->add_option("name", arguments->name, "a stand-in of the catalogue");
  command->add_option("--spec", arguments->spec, "parameters, as `data fit` writes them");
  command->add_option("--like", arguments->like, "a graph to fit first: a name or a file");
  command->add_option("--out,--output", arguments->output, "the .npz to write; default: into the cache");
  command
      ->add_option("--family", arguments->family,
                   "standin: with degrees and locality; powerlaw: the older one, degrees alone")
      ->check(CLI::IsMember({"standin", "powerlaw"}))
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "another than the parameters say");
  command->add_option("--device", arguments->device, "auto: a GPU where there is one; the bytes are the same")
      ->check(CLI::IsMember({"auto", "cpu", "gpu"}))
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "0: all cores; the bytes are the same")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command->callback([&context, arguments] { synth(context, *arguments); });
}

}  // namespace warpgrade::datasets
