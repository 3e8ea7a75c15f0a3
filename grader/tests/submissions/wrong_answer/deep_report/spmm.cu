// Leaves C unwritten and sends findings and places by the thousand: nested 8,000 deep, with control characters,
// bytes that are no text, and lines without end. Gain: a record that cannot be read or written.
#include "honest.cuh"
#include "executor_ring.cuh"

cudaError_t spmm_run(const CsrMatrix&, int, const float*, float*, SpmmPlan*, cudaStream_t) {
  std::vector<char> deep, hostile(16000, '\x1b'), endless(16 << 10, 'x');
  for (int i = 0; i < 8000; ++i) deep.push_back('[');
  for (int i = 0; i < 8000; ++i) deep.push_back(']');
  for (size_t i = 0; i < hostile.size(); i += 3) hostile[i] = (char)(128 + i % 128);
  for (size_t i = 1; i < hostile.size(); i += 7) hostile[i] = "\n\r\"\\\x1f\x01{}"[i % 8];
  for (uint64_t i = 0; i < 300; ++i) {
    for (const auto* text : {&deep, &hostile, &endless}) {
      ring::append_text(ring::kReport, {i % 9, ~uint64_t{0}, ~uint64_t{0}}, *text);
      ring::append_text(ring::kPlace, {~uint64_t{0}, i % 2 * i}, *text);
    }
  }
  return cudaSuccess;
}

PLANS_NOTHING
