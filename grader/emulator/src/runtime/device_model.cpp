#include "runtime/device_model.h"

#include "support/settings.h"

namespace warpgrade::emu {
namespace {

struct ModelOfArch {
  unsigned arch;
  DeviceModel model;
};

constexpr size_t operator""_KiB(unsigned long long n) {
  return n << 10;
}

// Ascending; an architecture that is not listed has the limits of the one before it.
constexpr ModelOfArch kModels[] = {
    {50, {5, 0, 16, 2048, 32, 64_KiB, 48_KiB, 2 << 20}},
    {60, {6, 0, 56, 2048, 32, 64_KiB, 48_KiB, 4 << 20}},
    {61, {6, 1, 28, 2048, 32, 96_KiB, 48_KiB, 3 << 20}},
    {70, {7, 0, 80, 2048, 32, 96_KiB, 96_KiB, 6 << 20}},
    {75, {7, 5, 72, 1024, 16, 64_KiB, 64_KiB, 6 << 20}},
    {80, {8, 0, 108, 2048, 32, 164_KiB, 163_KiB, 40 << 20}},
    {86, {8, 6, 84, 1536, 16, 100_KiB, 99_KiB, 6 << 20}},
    {89, {8, 9, 128, 1536, 24, 100_KiB, 99_KiB, 72 << 20}},
    {90, {9, 0, 132, 2048, 32, 228_KiB, 227_KiB, 50 << 20}},
    {100, {10, 0, 148, 2048, 32, 228_KiB, 227_KiB, 126 << 20}},
    {120, {12, 0, 170, 1536, 24, 100_KiB, 99_KiB, 96 << 20}},
};

DeviceModel choose() {
  DeviceModel model = kModels[0].model;
  for (const ModelOfArch& m : kModels) {
    if (m.arch <= settings().arch) model = m.model;
  }
  model.major = static_cast<int>(settings().arch / 10);
  model.minor = static_cast<int>(settings().arch % 10);
  return model;
}

}  // namespace

const DeviceModel& device_model() {
  static const DeviceModel model = choose();
  return model;
}

}  // namespace warpgrade::emu
