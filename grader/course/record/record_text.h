// A record as the text that its file holds: most of it are samples, which few readers want. So its checksum
// is of the text, and of its fields those that are asked for become values.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace warpgrade {

// "outcome", or of an object one field: "submission/id". None: all of the record.
using Fields = std::vector<std::string>;

// What any of these readers needs.
Fields fields_of(std::initializer_list<Fields> readers);

// The records of one submission, by its id.
using RecordsOf = std::function<std::vector<Record>(const std::string& submission)>;

// The record less all other fields, which stay unread. Nothing: the text is not a record as RunFolder writes
// one, canonical with the checksum of its other bytes; who wants to know why parses all of it.
std::optional<nlohmann::json> sealed_fields(std::string_view text, const Fields& fields);

// The same of a record that was parsed.
nlohmann::json only_fields(const nlohmann::json& record, const Fields& fields);

}  // namespace warpgrade
