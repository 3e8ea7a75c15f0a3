#include "course/record/record_text.h"

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

// The comma or bracket that ends the value which begins at `at`.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size(); ++at) {
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

// What of `fields` is about this field, less its name; nothing: it is not wanted; an empty list: all of it.
std::optional<Fields> wanted_of(const Fields& fields, std::string_view name) {
  std::optional<Fields> inner;
  for (const std::string_view field : fields) {
    if (field == name) return Fields{};
    if (field.size() <= name.size() || !field.starts_with(name) || field[name.size()] != '/') continue;
    if (!inner) inner.emplace();
    inner->emplace_back(field.substr(name.size() + 1));
  }
  return inner;
}

std::optional<json> parsed(std::string_view text, const Fields& fields) {
  if (fields.empty() || !text.starts_with('{')) {
    json value = json::parse(text, nullptr, false);
    return value.is_discarded() ? std::nullopt : std::optional(std::move(value));
  }
  json kept = json::object();
  const bool is_object = for_each_field(text, [&](std::string_view name, std::string_view value) {
    const auto wanted = wanted_of(fields, name);
    if (!wanted) return true;
    auto part = parsed(value, *wanted);
    if (part) kept[std::string(name)] = std::move(*part);
    return part.has_value();
  });
  return is_object ? std::optional(std::move(kept)) : std::nullopt;
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
  auto record = parsed(text, fields);
  return record && record->is_object() ? std::move(record) : std::nullopt;
}

Fields fields_of(std::initializer_list<Fields> readers) {
  Fields all;
  for (const Fields& reader : readers) all.insert(all.end(), reader.begin(), reader.end());
  return all;
}

json only_fields(const json& record, const Fields& fields) {
  if (fields.empty() || !record.is_object()) return record;
  json kept = json::object();
  for (const auto& [name, value] : record.items())
    if (const auto wanted = wanted_of(fields, name)) kept[name] = only_fields(value, *wanted);
  return kept;
}

}  // namespace warpgrade
