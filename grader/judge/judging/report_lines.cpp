#include "judge/judging/report_lines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#include "base/text.h"

namespace warpgrade {
namespace {

using nlohmann::json;

constexpr std::size_t kMostObjects = 2000, kMostFields = 96, kMostValues = 512;
constexpr std::size_t kMostNameBytes = 8192, kMostTextBytes = 2000;  // kernels of templates have long names
constexpr int kDeepest = 3;  // an object of the line, an object or an array in it, one to spare
constexpr double kLargest = 1e18, kSmallest = 1e-9;

// Only looks: ends the reading where nesting or size goes beyond the limits.
class Measure : public nlohmann::json_sax<json> {
 public:
  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override { return count(); }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return ++depth_ <= kDeepest && count(); }
  bool key(string_t&) override { return true; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t) override { return ++depth_ <= kDeepest && count(); }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool count() { return ++values_ <= kMostValues; }
  int depth_ = 0;
  std::size_t values_ = 0;
};

const std::set<std::string, std::less<>> kTexts{"kind",    "access",  "file",   "path",   "kernel",
                                                "address", "message", "advice", "buffer", "made_at"};
const std::set<std::string, std::less<>> kTriples{"grid", "block", "thread", "program"};
// What the judge itself adds to these objects later.
const std::set<std::string, std::less<>> kReserved{"lines", "buffers", "source", "findings", "kernels"};

bool plain_name(const std::string& name) {
  return !name.empty() && name.size() <= 48 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool good_number(const json& value, double least) {
  if (!value.is_number()) return false;
  const double number = value.get<double>();
  return number == 0 || (number >= least && std::abs(number) >= kSmallest && std::abs(number) <= kLargest);
}

// Lines of a source and the like, which other programs keep in 32 bits.
bool good_index(const json& value) {
  return value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() <= 0x7fffffff;
}

bool good_triple(const json& value) {
  return value.is_array() && value.size() == 3 && std::all_of(value.begin(), value.end(), good_index);
}

json clean(const json& object, double least, bool nested);

// The field as the record may hold it; null where it is none of the emulator's.
json clean_field(const std::string& name, const json& value, double least, bool nested) {
  if (kReserved.contains(name) || !plain_name(name)) return nullptr;
  if (value.is_string()) {
    // The other side of a race names its block and thread in words.
    const bool text = kTexts.contains(name) || (nested && (name == "name" || kTriples.contains(name)));
    const std::size_t most = name == "kernel" ? kMostNameBytes : kMostTextBytes;
    return text ? json(plain_line(value.get_ref<const std::string&>(), most)) : nullptr;
  }
  if (kTexts.contains(name)) return nullptr;
  if (kTriples.contains(name)) return !nested && good_triple(value) ? value : nullptr;
  if (name == "line" || name == "count") return good_index(value) ? value : nullptr;
  if (value.is_object()) {
    const bool known = name == "allocation" || name == "other" || name == "classes";
    return known && !nested ? clean(value, least, true) : nullptr;
  }
  const bool object_elsewhere = name == "allocation" || name == "other" || name == "classes";
  return good_number(value, least) && !object_elsewhere ? value : nullptr;
}

json clean(const json& object, double least, bool nested) {
  json result = json::object();
  for (const auto& [name, value] : object.items()) {
    if (result.size() >= kMostFields) break;
    json field = clean_field(name, value, least, nested);
    if (!field.is_null()) result[name] = std::move(field);
  }
  return result;
}

}  // namespace

json read_report(std::string_view text, Report report) {
  const double least = report == Report::kCounters ? 0 : -kLargest;
  json list = json::array();
  while (!text.empty() && list.size() < kMostObjects) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = valid_utf8(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    Measure measure;
    if (!json::sax_parse(line, &measure)) continue;
    const json item = json::parse(line, nullptr, false);
    if (!item.is_object()) continue;
    json cleaned = clean(item, least, false);
    if (!cleaned.empty()) list.push_back(std::move(cleaned));
  }
  return list;
}

}  // namespace warpgrade
