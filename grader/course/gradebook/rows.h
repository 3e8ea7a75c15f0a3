// Rows between JSON and SQLite, and merging them so that what stands there already is not written again.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "course/gradebook/schema.h"

namespace warpgrade {

using Value = std::variant<std::monostate, std::int64_t, double, std::string>;  // monostate: NULL, not known
using Row = std::vector<Value>;

// A field of an object; absent, null or of another kind: NULL.
Value text_value(const nlohmann::json& object, const char* key);
Value number_value(const nlohmann::json& object, const char* key);
Value integer_value(const nlohmann::json& object, const char* key);

nlohmann::json to_json(const Value& value);

void bind(SQLite::Statement& statement, int index, const Value& value);
Value column(SQLite::Statement& statement, int index);

// The object of a result's row; NULL columns are left out.
nlohmann::json row_object(SQLite::Statement& statement);

struct MergeResult {
  std::vector<Row> added;
  std::vector<std::pair<Row, Row>> changed;  // before, after
};

// Makes the table hold `rows`, all of one run. Rows that stand there alike are left alone, so that merging
// twice changes nothing; rows of the run that `rows` does not have stay.
MergeResult merge(SQLite::Database& database, const GradebookTable& table, const std::string& run,
                  const std::vector<Row>& rows);

}  // namespace warpgrade
