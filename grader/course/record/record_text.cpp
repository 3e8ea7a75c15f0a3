#include "course/record/record_text.h"

#include <algorithm>
#include <array>

#include "base/hash.h"

namespace warpgrade {
using nlohmann::json;

namespace {

constexpr std::size_t kNowhere = std::string_view::npos;

// The closing quote of the string whose opening one is at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at < text.size() ? at : kNowhere;
}

constexpr std::array<bool, 256> kMarks = [] {
  std::array<bool, 256> marks{};
  for (const unsigned char mark : {'"', '{', '}', '[', ']'}) marks[mark] = true;
  return marks;
}();

// The comma or bracket that ends the value which begins at `at`. Most of a record are lists of numbers.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size(); ++at) {
    while (depth > 0 && at < text.size() && !kMarks[static_cast<unsigned char>(text[at])]) ++at;
    if (at == text.size()) break;
    switch (text[at]) {
      case '"':
        at = end_of_string(text, at);
        if (at == kNowhere) return kNowhere;
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (depth == 0) return at;
        --depth;
        break;
      case ',':
        if (depth == 0) return at;
        break;
      default:
        break;
    }
  }
  return kNowhere;
}

// Calls `take` with the name and the text of each field of an object without spaces; false: it is not one.
template <class Take>
bool for_each_field(std::string_view object, const Take& take) {
  if (object.size() < 2 || object.front() != '{') return false;
  for (std::size_t at = 1; at < object.size() && object[at] == '"';) {
    const std::size_t name_end = end_of_string(object, at);
    if (name_end == kNowhere || name_end + 1 >= object.size() || object[name_end + 1] != ':') return false;
    const std::size_t end = end_of_value(object, name_end + 2);
    if (end == kNowhere) return false;
    if (!take(object.substr(at + 1, name_end - at - 1), object.substr(name_end + 2, end - name_end - 2)))
      return false;
    if (object[end] == '}') return end + 1 == object.size();
    at = end + 1;
  }
  return object == "{}";
}

enum class Wanted { kNothing, kPart, kAll };

// What of the field at `path` ("timing", "timing/median_us") `fields` name.
Wanted wanted_of(const Fields& fields, std::string_view path) {
  Wanted found = Wanted::kNothing;
  for (const std::string& field : fields) {
    // Of one object's fields the last letters differ sooner than the first ones, which are the object's path.
    const std::size_t last = path.size() - 1;
    if (field.size() <= last || field[last] != path[last] || !field.starts_with(path)) continue;
    if (field.size() == path.size()) return Wanted::kAll;
    if (field[path.size()] == '/') found = Wanted::kPart;
  }
  return found;
}

// The path of a field while what is in it is looked at.
class Within {
 public:
  Within(std::string& path, std::string_view name) : path_(path), before_(path.size()) {
    if (!path.empty()) path += '/';
    path += name;
  }
  ~Within() { path_.resize(before_); }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  std::string& path_;
  std::size_t before_;
};

// Whether it is a text of JSON without an escape, a control or a letter beyond ASCII.
bool is_simple_string(std::string_view text) {
  return text.size() >= 2 && text.front() == '"' && text.back() == '"' &&
         std::all_of(text.begin() + 1, text.end() - 1,
                     [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

std::optional<json> parsed(std::string_view text) {
  if (is_simple_string(text)) return json(text.substr(1, text.size() - 2));  // half of what is asked for
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? std::nullopt : std::optional(std::move(value));
}

std::optional<json> parsed_part(std::string_view text, const Fields& fields, std::string& path) {
  if (!text.starts_with('{')) return parsed(text);
  json kept = json::object();
  const bool is_object = for_each_field(text, [&](std::string_view name, std::string_view value) {
    const Within within(path, name);
    const Wanted wanted = wanted_of(fields, path);
    if (wanted == Wanted::kNothing) return true;
    auto part = wanted == Wanted::kAll ? parsed(value) : parsed_part(value, fields, path);
    if (part) kept.emplace(name, std::move(*part));
    return part.has_value();
  });
  return is_object ? std::optional(std::move(kept)) : std::nullopt;
}

json part_of(const json& whole, const Fields& fields, std::string& path) {
  if (!whole.is_object()) return whole;
  json kept = json::object();
  for (const auto& [name, value] : whole.items()) {
    const Within within(path, name);
    const Wanted wanted = wanted_of(fields, path);
    if (wanted != Wanted::kNothing)
      kept[name] = wanted == Wanted::kAll ? value : part_of(value, fields, path);
  }
  return kept;
}

// A quote within a text of JSON is escaped, so no text can look like the field.
bool is_sealed(std::string_view text) {
  constexpr std::string_view kField = R"("checksum":")";
  constexpr std::size_t kDigits = 64;
  const std::size_t at = text.find(kField), digits = at + kField.size(), end = digits + kDigits;
  if (at == kNowhere || end + 1 >= text.size() || text[end] != '"') return false;
  if (text.find(kField, end) != kNowhere) return false;
  const std::size_t rest = end + (text[end + 1] == ',' ? 2 : 1);
  return Sha256().raw(text.substr(0, at)).raw(text.substr(rest)).hex() == text.substr(digits, kDigits);
}

}  // namespace

std::optional<json> sealed_fields(std::string_view text, const Fields& fields) {
  if (!is_sealed(text)) return std::nullopt;
  std::string path;
  auto record = fields.empty() ? parsed(text) : parsed_part(text, fields, path);
  return record && record->is_object() ? std::move(record) : std::nullopt;
}

Fields fields_of(std::initializer_list<Fields> readers) {
  Fields all;
  for (const Fields& reader : readers) all.insert(all.end(), reader.begin(), reader.end());
  return all;
}

json only_fields(const json& record, const Fields& fields) {
  std::string path;
  return fields.empty() ? record : part_of(record, fields, path);
}

}  // namespace warpgrade
