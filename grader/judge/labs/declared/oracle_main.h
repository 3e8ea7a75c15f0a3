// Serves a lab's oracle.cpp: requests on descriptor 3, arrays in memory shared with the judge.
// Compiled with the oracle, by the toolkit's host compiler; it knows nothing of the harness. The
// judge's side is oracle_process.cpp.
//
// A request is lines of words: `memory BYTES`, which brings a descriptor along; or `truth`, then
// `value NAME NUMBER`, `input NAME AT CELLS` and `output NAME AT CELLS`. An answer is JSON: {"ok": true}
// or {"error": TEXT}.
#pragma once

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace warpgrade_oracle {

inline constexpr int kSocket = 3;
inline constexpr std::size_t kLongestMessage = 1 << 16;

struct Memory {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

// The arrays and numbers of one case.
class Request {
 public:
  explicit Request(Memory memory) : memory_(memory) {}

  void add_value(const std::string& name, const std::string& text) { values_[name] = text; }
  void add_array(const std::string& name, std::size_t at, std::size_t cells) { arrays_[name] = {at, cells}; }

  template <class T>
  T number(const char* name) const {
    const std::string& text = values_.at(name);
    if constexpr (static_cast<T>(0.5) != T{0}) return static_cast<T>(std::strtod(text.c_str(), nullptr));
    if constexpr (static_cast<T>(-1) < T{0}) return static_cast<T>(std::strtoll(text.c_str(), nullptr, 10));
    return static_cast<T>(std::strtoull(text.c_str(), nullptr, 10));
  }
  template <class T>
  const T* input(const char* name) const {
    return array<T>(name);
  }
  template <class T>
  T* output(const char* name) const {
    return array<T>(name);
  }
  // fp16 and bf16 as floats of the same value.
  const float* half_input(const char* name) {
    return widened(name, [](std::uint16_t bits) {
      const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, exponent = bits >> 10 & 31,
                          fraction = bits & 1023;
      if (exponent == 31) return of_bits(sign | 0x7F800000u | fraction << 13);
      if (exponent != 0) return of_bits(sign | (exponent + 112) << 23 | fraction << 13);
      const float size = static_cast<float>(fraction) * 0x1p-24F;
      return sign != 0 ? -size : size;
    });
  }
  const float* bfloat_input(const char* name) {
    return widened(name, [](std::uint16_t bits) { return of_bits(std::uint32_t{bits} << 16); });
  }

 private:
  struct Place {
    std::size_t at = 0, cells = 0;
  };
  template <class T>
  T* array(const char* name) const {
    const Place place = arrays_.at(name);
    if (place.at > memory_.bytes || place.cells > (memory_.bytes - place.at) / sizeof(T))
      throw std::out_of_range(std::string(name) + " lies outside the judge's memory");
    return reinterpret_cast<T*>(memory_.begin + place.at);
  }
  static float of_bits(std::uint32_t bits) {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  template <class F>
  const float* widened(const char* name, F widen) {
    const auto* from = array<const std::uint16_t>(name);
    std::vector<float>& wide = wide_.emplace_back(arrays_.at(name).cells);
    for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = widen(from[i]);
    return wide.data();
  }

  Memory memory_;
  std::map<std::string, std::string> values_;
  std::map<std::string, Place> arrays_;
  std::deque<std::vector<float>> wide_;
};

inline void say(const std::string& error) {
  std::string text = error.empty() ? "{\"ok\": true}" : "{\"error\": \"";
  for (const char c : error) {
    if (c == '"' || c == '\\') text += '\\';
    text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  if (!error.empty()) text += "\"}";
  if (send(kSocket, text.data(), text.size(), 0) < 0) std::exit(1);
}

// One message and the descriptor that came along, -1 without one. Empty: the judge has hung up.
inline std::string receive(int& descriptor) {
  std::vector<char> text(kLongestMessage);
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(kSocket, &message, 0);
  descriptor = -1;
  const cmsghdr* header = size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS)
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

inline Memory map_memory(std::size_t bytes, int descriptor, Memory before) {
  if (before.begin != nullptr) munmap(before.begin, before.bytes);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (mapped == MAP_FAILED) throw std::runtime_error("the judge's memory cannot be mapped");
  return {static_cast<std::byte*>(mapped), bytes};
}

// Answers until the judge hangs up.
inline int serve(void (*answer)(Request&)) {
  Memory memory;
  say("");
  int descriptor = -1;
  for (std::string text = receive(descriptor); !text.empty(); text = receive(descriptor)) {
    std::istringstream words(text);
    std::string word, name, number;
    words >> word;
    try {
      if (word == "memory") {
        std::size_t bytes = 0;
        words >> bytes;
        memory = map_memory(bytes, descriptor, memory);
      } else {
        Request request(memory);
        while (words >> word) {
          std::size_t at = 0, cells = 0;
          if (word == "value" && words >> name >> number) request.add_value(name, number);
          if (word != "value" && words >> name >> at >> cells) request.add_array(name, at, cells);
        }
        answer(request);
      }
      say("");
    } catch (const std::exception& error) {
      say(error.what()[0] != '\0' ? error.what() : "an exception without words");
    }
  }
  return 0;
}

}  // namespace warpgrade_oracle
