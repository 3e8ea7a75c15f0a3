#include "course/gradebook/rows.h"

#include <fmt/format.h>

#include <map>

namespace warpgrade {
using nlohmann::json;

namespace {

const json* found(const json& object, const char* key) {
  const auto place = object.is_object() ? object.find(key) : object.end();
  return !object.is_object() || place == object.end() ? nullptr : &*place;
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

Row key_of(const Row& row, std::size_t keys) {
  return {row.begin(), row.begin() + static_cast<std::ptrdiff_t>(keys)};
}

std::map<Row, Row> stored_rows(SQLite::Database& database, const GradebookTable& table,
                               const std::string& run) {
  SQLite::Statement query(database,
                          fmt::format("SELECT {} FROM {} WHERE run = ?", joined(table.columns), table.name));
  query.bind(1, run);
  std::map<Row, Row> rows;
  while (query.executeStep()) {
    Row row;
    for (int i = 0; i < query.getColumnCount(); ++i) row.push_back(column(query, i));
    Row key = key_of(row, table.keys);
    rows.emplace(std::move(key), std::move(row));
  }
  return rows;
}

// Numbers are compared as SQLite keeps them: a whole number in a REAL column comes back as one.
bool same(const Row& a, const Row& b) {
  const auto number = [](const Value& v) -> std::optional<double> {
    if (const auto* whole = std::get_if<std::int64_t>(&v)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&v)) return *real;
    return std::nullopt;
  };
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = number(a[i]), y = number(b[i]);
    if (x && y ? *x != *y : a[i] != b[i]) return false;
  }
  return true;
}

}  // namespace

Value text_value(const json& object, const char* key) {
  const json* value = found(object, key);
  return value != nullptr && value->is_string() ? Value(value->get<std::string>()) : Value();
}

Value number_value(const json& object, const char* key) {
  const json* value = found(object, key);
  return value != nullptr && value->is_number() ? Value(value->get<double>()) : Value();
}

Value integer_value(const json& object, const char* key) {
  const json* value = found(object, key);
  return value != nullptr && value->is_number() ? Value(value->get<std::int64_t>()) : Value();
}

json to_json(const Value& value) {
  return std::visit(
      [](const auto& v) -> json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
          return nullptr;
        else
          return v;
      },
      value);
}

void bind(SQLite::Statement& statement, int index, const Value& value) {
  std::visit(
      [&](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
          statement.bind(index);
        else
          statement.bind(index, v);
      },
      value);
}

Value column(SQLite::Statement& statement, int index) {
  const SQLite::Column found_column = statement.getColumn(index);
  if (found_column.isNull()) return {};
  if (found_column.isInteger()) return found_column.getInt64();
  if (found_column.isFloat()) return found_column.getDouble();
  return found_column.getString();
}

json row_object(SQLite::Statement& statement) {
  json object = json::object();
  for (int i = 0; i < statement.getColumnCount(); ++i) {
    json value = to_json(column(statement, i));
    if (!value.is_null()) object[statement.getColumnName(i)] = std::move(value);
  }
  return object;
}

MergeResult merge(SQLite::Database& database, const GradebookTable& table, const std::string& run,
                  const std::vector<Row>& rows) {
  const std::map<Row, Row> before = stored_rows(database, table, run);
  std::string places = "?";
  for (std::size_t i = 1; i < table.columns.size(); ++i) places += ", ?";
  std::string updates;
  for (std::size_t i = table.keys; i < table.columns.size(); ++i) {
    updates +=
        fmt::format("{}{} = excluded.{}", updates.empty() ? "" : ", ", table.columns[i], table.columns[i]);
  }
  // Never REPLACE: it would delete the row first, and with it what refers to it.
  SQLite::Statement write(database, fmt::format("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT DO {}",
                                                table.name, joined(table.columns), places,
                                                updates.empty() ? "NOTHING" : "UPDATE SET " + updates));
  MergeResult result;
  for (const Row& row : rows) {
    const auto stands = before.find(key_of(row, table.keys));
    if (stands != before.end() && same(stands->second, row)) continue;
    for (std::size_t i = 0; i < row.size(); ++i) bind(write, static_cast<int>(i) + 1, row[i]);
    write.exec();
    write.reset();
    if (stands == before.end()) {
      result.added.push_back(row);
    } else {
      result.changed.emplace_back(stands->second, row);
    }
  }
  return result;
}

}  // namespace warpgrade
