#include "cli/similar_options.h"

namespace warpgrade {

void SimilarOptions::add_compared(CLI::App& command) {
  command.add_option("--sources", sources,
                     "a folder a submission, to look for similar ones; default: the run's snapshots");
  command
      .add_option("--against", against,
                  "compare code also with this: an earlier year's run, a folder of programs, or a file that "
                  "--keep-fingerprints wrote; may be repeated")
      ->check(CLI::ExistingPath)
      ->allow_extra_args(false);
}

void SimilarOptions::add_kept(CLI::App& command) {
  command.add_option(
      "--keep-fingerprints", kept,
      "write fingerprints of this class's code, without sources, for --against in a later year");
  command
      .add_option(
          "--fingerprint-names", kept_names,
          "what students are called there: pseudonyms (who is who stands in the run's secret folder), or ids")
      ->check(CLI::IsMember({"pseudonyms", "ids"}))
      ->capture_default_str();
}

void SimilarOptions::append_to(std::vector<std::string>& arguments) const {
  if (!sources.empty()) arguments.insert(arguments.end(), {"--sources", sources.string()});
  for (const std::filesystem::path& path : against)
    arguments.insert(arguments.end(), {"--against", path.string()});
  if (!kept.empty())
    arguments.insert(arguments.end(),
                     {"--keep-fingerprints", kept.string(), "--fingerprint-names", kept_names});
}

}  // namespace warpgrade
