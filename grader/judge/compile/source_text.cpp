#include "judge/compile/source_text.h"

#include <fmt/format.h>
#include <iconv.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace warpgrade {
namespace {

struct Encoding {
  const char* name = nullptr;  // iconv's; null: the bytes are taken as they are
  const char* shown = "";
  std::size_t mark = 0;  // bytes of the mark
};

// Half of what ASCII is in UTF-16 are zeros, all at even or all at odd places.
Encoding without_mark(std::string_view bytes) {
  const std::size_t looked = std::min<std::size_t>(bytes.size(), 4096);
  std::size_t zeros[2] = {0, 0};
  for (std::size_t i = 0; i < looked; ++i) zeros[i % 2] += bytes[i] == '\0' ? 1 : 0;
  const std::size_t half = looked / 2;
  if (half < 2) return {};
  if (zeros[1] * 10 > half * 5 && zeros[0] * 20 < half) return {"UTF-16LE", "UTF-16", 0};
  if (zeros[0] * 10 > half * 5 && zeros[1] * 20 < half) return {"UTF-16BE", "UTF-16", 0};
  return {};
}

Encoding encoding_of(std::string_view bytes) {
  using std::string_view_literals::operator""sv;
  if (bytes.starts_with("\xEF\xBB\xBF"sv)) return {nullptr, "UTF-8 with a mark", 3};
  if (bytes.starts_with("\xFF\xFE\0\0"sv)) return {"UTF-32LE", "UTF-32", 4};
  if (bytes.starts_with("\0\0\xFE\xFF"sv)) return {"UTF-32BE", "UTF-32", 4};
  if (bytes.starts_with("\xFF\xFE"sv)) return {"UTF-16LE", "UTF-16", 2};
  if (bytes.starts_with("\xFE\xFF"sv)) return {"UTF-16BE", "UTF-16", 2};
  return without_mark(bytes);
}

// False: the bytes are not in this encoding.
bool convert(std::string bytes, const char* from, std::string& text) {
  const iconv_t conversion = iconv_open("UTF-8", from);
  if (conversion == reinterpret_cast<iconv_t>(-1)) return false;
  text.assign(bytes.size() * 2 + 16, '\0');  // two bytes become at most three, four become at most four
  char *in = bytes.data(), *out = text.data();
  std::size_t in_left = bytes.size(), out_left = text.size();
  const std::size_t done = iconv(conversion, &in, &in_left, &out, &out_left);
  iconv_close(conversion);
  text.resize(text.size() - out_left);
  return done != static_cast<std::size_t>(-1) && in_left == 0;
}

}  // namespace

SourceText8 as_utf8(std::string bytes) {
  const Encoding encoding = encoding_of(bytes);
  SourceText8 result;
  result.was = encoding.shown;
  if (encoding.name == nullptr) {
    bytes.erase(0, encoding.mark);
    result.text = std::move(bytes);
    return result;
  }
  if (!convert(bytes.substr(encoding.mark), encoding.name, result.text))
    result.problem = fmt::format(
        "looks like {}, but ends within a character or holds what is none; save it as UTF-8", encoding.shown);
  return result;
}

}  // namespace warpgrade
