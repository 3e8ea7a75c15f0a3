// What sbatch refuses, said in the site file's words.
#pragma once

#include <string>

#include "base/error.h"
#include "course/slurm/site.h"

namespace warpgrade {

// sbatch answered, and takes no such job.
class SbatchRefusal : public UsageError {
 public:
  using UsageError::UsageError;
};

// "site.yaml: judge: gres: 'gpu:a100:1': Slurm refuses it: Invalid generic resource (gres) specification".
// The words are those of slurm_strerror(3). Where they fit no key, all keys of the kind are named.
std::string refusal_text(const std::string& words, const SiteTask& task, const std::string& kind,
                         const std::string& file);

}  // namespace warpgrade
