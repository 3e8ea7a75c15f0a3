// One table a struct says how it stands in JSON: `static constexpr auto fields()` gives each field's name,
// place and meaning. Reading, writing and the JSON Schema follow from it. What a table does not know (a newer
// field, a value of another type) is kept in `other` and written again, so that no reader loses anything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "record/verdict.h"

namespace warpgrade::typed {

// What is written again derives from it. What does not is read alone: it passes over what it does not know,
// and throws json::type_error for a field of another type.
struct Object {
  nlohmann::json other;
  bool operator==(const Object&) const = default;
};

template <class Struct, class Value>
struct Field {
  std::string_view name;
  Value Struct::*place;
  std::string_view help;
  std::string_view older = "";  // its name in records of before
};

template <class Struct, class Value>
constexpr Field<Struct, Value> field(std::string_view name, Value Struct::*place, std::string_view help,
                                     std::string_view older = "") {
  return {name, place, help, older};
}

// A table of the struct's own names, without words: of what no schema tells.
#define WARPGRADE_FIELD(name)                       \
  , std::tuple {                                    \
    warpgrade::typed::field(#name, &This::name, "") \
  }
#define WARPGRADE_FIELDS(Struct, ...)                                                                   \
  using This = Struct;                                                                                  \
  static constexpr auto fields() {                                                                      \
    return std::tuple_cat(std::tuple<>()                                                                \
                              NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(WARPGRADE_FIELD, __VA_ARGS__))); \
  }                                                                                                     \
  friend void from_json(const nlohmann::json& json, Struct& value) {                                    \
    value = warpgrade::typed::from_object<Struct>(json);                                                \
  }

template <class T>
concept HasFields = requires {
  T::fields();
};
template <class T>
concept IsObject = HasFields<T> && std::is_base_of_v<Object, T>;

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

// A number of its own kind.
template <class T>
concept IsNumber = requires(const T& t) {
  t.to_number();
};
// An enumeration with `words_of(T)`, in its order.
template <class T>
concept HasWords = requires {
  words_of(T{});
};

template <HasWords E>
std::string_view word_of(E value) {
  return words_of(value)[static_cast<std::size_t>(value)];
}
template <HasWords E>
std::optional<E> named(std::string_view word) {
  const auto words = words_of(E{});
  const auto found = std::find(words.begin(), words.end(), word);
  return found == words.end() ? std::nullopt : std::optional(static_cast<E>(found - words.begin()));
}

// A value that is not known is absent.
template <class T>
bool is_absent(const T& value) {
  if constexpr (std::is_same_v<T, nlohmann::json>)
    return value.is_null();
  else if constexpr (IsOptional<T>::value)
    return !value;
  else if constexpr (std::is_same_v<T, bool>)
    return !value;
  else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::filesystem::path> ||
                     IsList<T>::value || IsMap<T>::value)
    return value.empty();
  else if constexpr (std::is_same_v<T, Reason>)
    return value == Reason::kNone;
  else
    return false;
}

template <class T>
nlohmann::json to_value(const T& value);

// False: it is of another type, or a word that is not known, and `value` is as before.
template <class T>
bool take(const nlohmann::json& json, T& value);

template <IsObject T>
nlohmann::json to_object(const T& value) {
  static const T kDefault;
  nlohmann::json json = value.other.is_object() ? value.other : nlohmann::json::object();
  const auto put = [&](const auto& each) {
    const auto& part = value.*each.place;
    bool absent = json.contains(each.name);
    if constexpr (HasFields<std::remove_cvref_t<decltype(part)>>)
      absent = absent || part == kDefault.*each.place;  // an accepted outcome is one that is known
    else
      absent = absent || is_absent(part);
    if (!absent) json[std::string(each.name)] = to_value(part);
  };
  std::apply([&](const auto&... each) { (put(each), ...); }, T::fields());
  return json;
}

template <HasFields T>
T from_object(const nlohmann::json& json) {
  T value;
  for (const auto& entry : json.items()) {  // no structured binding: clang 14 captures none
    const std::string& name = entry.key();
    const nlohmann::json& part = entry.value();
    const auto takes = [&](const auto& each) {
      if (each.name != name && (each.older.empty() || each.older != name)) return false;
      const bool taken = take(part, value.*each.place);
      if constexpr (!IsObject<T>)
        if (!taken && !part.is_null())
          throw nlohmann::json::type_error::create(302, "`" + name + "` is of another type", &part);
      return taken;
    };
    const bool taken = std::apply([&](const auto&... each) { return (takes(each) || ...); }, T::fields());
    if constexpr (IsObject<T>)
      if (!taken) value.other[name] = part;
  }
  return value;
}

template <class T>
nlohmann::json to_value(const T& value) {
  if constexpr (HasFields<T>) {
    return to_object(value);
  } else if constexpr (IsOptional<T>::value) {
    return to_value(*value);
  } else if constexpr (IsList<T>::value) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& item : value) list.push_back(to_value(item));
    return list;
  } else if constexpr (IsMap<T>::value) {
    nlohmann::json map = nlohmann::json::object();
    for (const auto& [name, item] : value) map[name] = to_value(item);
    return map;
  } else if constexpr (IsNumber<T>) {
    return value.to_number();
  } else if constexpr (HasWords<T>) {
    return word_of(value);
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return value.string();
  } else {
    return value;
  }
}

template <class T>
bool take(const nlohmann::json& json, T& value) {
  if constexpr (std::is_same_v<T, nlohmann::json>) {
    value = json;
    return true;
  } else if constexpr (HasFields<T>) {
    if (json.is_object()) value = from_object<T>(json);
    return json.is_object();
  } else if constexpr (IsOptional<T>::value) {
    typename T::value_type inner{};
    if (!take(json, inner)) return false;
    value = std::move(inner);
    return true;
  } else if constexpr (IsList<T>::value) {
    T list;
    for (const auto& item : json)
      if (!take(item, list.emplace_back())) return false;
    if (json.is_array()) value = std::move(list);
    return json.is_array();
  } else if constexpr (IsMap<T>::value) {
    if (!json.is_object()) return false;
    T map;
    for (const auto& [name, item] : json.items())
      if (!take(item, map[name])) return false;
    value = std::move(map);
    return true;
  } else if constexpr (IsNumber<T>) {
    const auto number = T::from_number(json);
    if (number) value = *number;
    return number.has_value();
  } else if constexpr (HasWords<T>) {
    const auto found = json.is_string() ? named<T>(json.get_ref<const std::string&>()) : std::nullopt;
    if (found) value = *found;
    return found.has_value();
  } else if constexpr (std::is_same_v<T, Verdict> || std::is_same_v<T, Reason>) {
    if (!json.is_string()) return false;
    const T named = json.get<T>();
    value = named;
    return named != T::kUnknown;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (json.is_boolean()) value = json.get<bool>();
    return json.is_boolean();
  } else if constexpr (std::is_integral_v<T>) {
    if (json.is_number_integer()) value = json.get<T>();
    return json.is_number_integer();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (json.is_number()) value = json.get<T>();
    return json.is_number();
  } else {
    static_assert(std::is_same_v<T, std::string> || std::is_same_v<T, std::filesystem::path>);
    if (json.is_string()) value = json.get<std::string>();
    return json.is_string();
  }
}

template <IsObject T>
void to_json(nlohmann::json& json, const T& value) {
  json = to_object(value);
}
template <HasFields T>
void from_json(const nlohmann::json& json, T& value) {
  value = from_object<T>(json);
}

// Writes of each struct its schema (JSON Schema 2020-12) below `$defs`; the schema of a field refers there.
class SchemaWriter {
 public:
  template <class T>
  nlohmann::json schema_of() {
    using nlohmann::json;
    if constexpr (HasFields<T>) {
      const std::string name(T::kName);
      if (known_.insert(name).second) {
        json properties = json::object();
        std::apply([&](const auto&... each) { (add(properties, each), ...); }, T::fields());
        definitions[name] = {{"type", "object"}, {"description", T::kHelp}, {"properties", properties}};
      }
      return {{"$ref", "#/$defs/" + name}};
    } else if constexpr (IsOptional<T>::value) {
      return schema_of<typename T::value_type>();
    } else if constexpr (IsList<T>::value) {
      return {{"type", "array"}, {"items", schema_of<typename T::value_type>()}};
    } else if constexpr (IsMap<T>::value) {
      return {{"type", "object"}, {"additionalProperties", schema_of<typename T::mapped_type>()}};
    } else if constexpr (std::is_same_v<T, Verdict>) {
      return {{"$ref", "#/$defs/Verdict"}};
    } else if constexpr (std::is_same_v<T, Reason>) {
      return {{"$ref", "#/$defs/Reason"}};
    } else if constexpr (std::is_same_v<T, bool>) {
      return {{"type", "boolean"}};
    } else if constexpr (std::is_integral_v<T>) {
      return {{"type", "integer"}};
    } else if constexpr (std::is_floating_point_v<T>) {
      return {{"type", "number"}};
    } else if constexpr (IsNumber<T>) {
      return {{"type", "number"}};
    } else if constexpr (HasWords<T>) {
      return {{"enum", words_of(T{})}};
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::filesystem::path>) {
      return {{"type", "string"}};
    } else {
      return json::object();  // anything
    }
  }

  nlohmann::json definitions = nlohmann::json::object();

 private:
  template <class F>
  void add(nlohmann::json& properties, const F& each) {
    using Value = std::remove_cvref_t<decltype(value_type(each))>;
    nlohmann::json schema = schema_of<Value>();
    schema["description"] = each.help;
    properties[std::string(each.name)] = schema;
    if (each.older.empty()) return;
    schema["deprecated"] = true;
    properties[std::string(each.older)] = schema;
  }
  template <class S, class V>
  static V value_type(const Field<S, V>&);

  std::set<std::string> known_;
};

}  // namespace warpgrade::typed
