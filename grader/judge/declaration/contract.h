// What is made from a declaration: the contract that students include, the runner's part that calls their
// functions, their stub, the table of cases in their page.
#pragma once

#include <string>

#include "judge/declaration/lab_declaration.h"

namespace warpgrade::declaration {

// warpgrade/<lab>.h
std::string contract_header(const LabDeclaration& lab);
// <lab>_runner.cpp, against judge/runner/runner_lab.h.
std::string runner_source(const LabDeclaration& lab);
// student/<lab>/<lab>.cu: compiles, and says that it is not written yet.
std::string student_stub(const LabDeclaration& lab);
// What the lab's oracle.cpp is to define, and the program that calls it (judge/labs/declared/oracle_main.h).
std::string oracle_declaration(const LabDeclaration& lab);
std::string oracle_program(const LabDeclaration& lab);
// The student's page with its table of public cases made anew; the table at its end where it had none.
std::string with_case_table(const std::string& page, const LabDeclaration& lab);

}  // namespace warpgrade::declaration
