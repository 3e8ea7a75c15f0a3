// GPU models by name. A policy says "H100"; CUDA says "NVIDIA H100 80GB HBM3".
#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace warpgrade {

// The words of a model's or a device's name, in capitals: what stands between characters that are neither
// letters, digits nor dots.
std::set<std::string> gpu_words(const std::string& name);

// How many words of `model` a device with this name has; 0: it is not of that model, since it lacks one. A
// part of a GPU (MIG) is a model of its own: it is meant only where the model says MIG.
std::size_t gpu_match(const std::string& model, const std::string& device);

// The words by which NVIDIA tells its GPUs apart (developer.nvidia.com/cuda/gpus, from Pascal on).
std::set<std::string> known_gpus();

// The device's model: its name without the maker, the brand, and what begins with the size or kind of its
// memory. "NVIDIA H100 80GB HBM3": "H100"; "NVIDIA GeForce RTX 4090": "RTX 4090"; "NVIDIA
// A100-SXM4-40GB": "A100".
std::string gpu_model(const std::string& device);

}  // namespace warpgrade
