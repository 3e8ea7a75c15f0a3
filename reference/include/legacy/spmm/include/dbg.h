// dbg(expression): print file, line, the expression and its value on stderr, and hand the value on.
#pragma once

#include <iostream>
#include <type_traits>
#include <utility>

namespace legacy_dbg {

template <typename T, typename = void>
struct is_printable : std::false_type {};
template <typename T>
struct is_printable<T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>>
    : std::true_type {};

template <typename T, typename = void>
struct is_range : std::false_type {};
template <typename T>
struct is_range<
    T, std::void_t<decltype(std::declval<const T&>().begin()), decltype(std::declval<const T&>().end())>>
    : std::true_type {};

template <typename T>
void print_value(const T& value) {
  if constexpr (is_printable<T>::value) {
    std::cerr << value;
  } else if constexpr (is_range<T>::value) {
    std::cerr << "{";
    const char* separator = "";
    for (const auto& element : value) {
      std::cerr << separator;
      print_value(element);
      separator = ", ";
    }
    std::cerr << "}";
  } else {
    std::cerr << "(not printable)";
  }
}

inline void print() {}

// Prints every value and returns the last one.
template <typename Last>
Last&& print(Last&& last) {
  print_value(last);
  std::cerr << std::endl;
  return std::forward<Last>(last);
}
template <typename First, typename... Rest>
decltype(auto) print(First&& first, Rest&&... rest) {
  print_value(first);
  std::cerr << ", ";
  return print(std::forward<Rest>(rest)...);
}

}  // namespace legacy_dbg

#ifndef dbg
#define dbg(...)                                                                     \
  (std::cerr << "[" << __FILE__ << ":" << __LINE__ << "] " << #__VA_ARGS__ << " = ", \
   ::legacy_dbg::print(__VA_ARGS__))
#endif
