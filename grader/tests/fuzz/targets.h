// What is fuzzed, a function each. It takes any bytes and returns, or it fails: by a sanitizer, by an
// exception that its reader does not document, or by expect().
#pragma once

#include <string_view>

namespace warpgrade::fuzz {

// Device code and the executor.
void ring(std::string_view input);
void ptx(std::string_view input);
void fat_binary(std::string_view input);
void object_file(std::string_view input);
// The judge's text.
void report_lines(std::string_view input);
void compiler_log(std::string_view input);
void lab_yaml(std::string_view input);
void policy_yaml(std::string_view input);
void expression(std::string_view input);
void npy(std::string_view input);
// Hand-ins and classes.
void submission(std::string_view input);
void archive(std::string_view input);
void class_export(std::string_view input);
void class_table(std::string_view input);
void desk_line(std::string_view input);
// Data sets.
void graph_file(std::string_view input);
void graph_folder(std::string_view input);

}  // namespace warpgrade::fuzz
