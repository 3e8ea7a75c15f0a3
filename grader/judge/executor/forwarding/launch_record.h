// A launch as it travels (wire.h): six arguments, then the parameters and the attributes.
#pragma once
#include <cstring>
#include <span>

#include "cudart/backend.h"
#include "judge/executor/wire.h"

namespace warpgrade::executor {

struct LaunchRecord {
  LaunchRecord(const cudart::LaunchCall& launch, std::span<const cudaLaunchAttribute> with,
               std::span<const uint8_t> kernel_parameters)
      : arguments{pack(launch.kernel, launch.stream),
                  pack(launch.grid[0], launch.grid[1]),
                  pack(launch.grid[2], launch.block[0]),
                  pack(launch.block[1], launch.block[2]),
                  pack(launch.dynamic_shared, launch.cooperative ? 1 : 0),
                  pack(kernel_parameters.size(), with.size())},
        parameters(kernel_parameters),
        attributes(with) {}

  size_t bytes() const { return padded() + attributes.size() * sizeof(wire::Attribute); }
  void write(uint8_t* at) const {
    if (!parameters.empty()) std::memcpy(at, parameters.data(), parameters.size());
    for (size_t k = 0; k < attributes.size(); ++k) {
      wire::Attribute attribute;
      attribute.id = static_cast<uint32_t>(attributes[k].id);
      static_assert(sizeof attribute.value == sizeof(cudaLaunchAttributeValue));
      std::memcpy(attribute.value, &attributes[k].val, sizeof attribute.value);
      std::memcpy(at + padded() + k * sizeof attribute, &attribute, sizeof attribute);
    }
  }

  uint64_t arguments[6];
  std::span<const uint8_t> parameters;
  std::span<const cudaLaunchAttribute> attributes;

 private:
  static constexpr uint64_t pack(uint64_t low, uint64_t high) { return (low & 0xffff'ffff) | high << 32; }
  size_t padded() const { return wire::round_up(parameters.size(), 8); }
};

}  // namespace warpgrade::executor
