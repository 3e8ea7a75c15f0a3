// What tests of programs/ expect of a run.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "run_program.h"

constexpr const char* kEveryCheck = "WARPEMU_CHECKS=memcheck,initcheck,racecheck,synccheck,leakcheck";

inline void expect_success(const std::string& program, const std::string& arguments = "",
                           const std::string& environment = "") {
  const Result r = run(program, arguments, environment);
  EXPECT_EQ(r.exit_code, 0) << program << " " << arguments << " " << environment << "\n" << r.output;
}

// A mistake that a program makes when its name is the argument, at the line that carries the name.
struct MarkedMistake {
  const char* name;
  const char* kind;
  const char* error;   // what the program sees and prints
  const char* detail;  // of the message
};

inline void expect_told_at_its_line(const std::string& program, const MarkedMistake& m,
                                    const std::string& environment) {
  const std::string place = std::string("emulator: ") + m.kind + " at " + program +
                            ".cu:" + std::to_string(marked_line(program + ".cu", m.name));
  const Result r = run(program, m.name, environment);
  EXPECT_NE(r.output.find(m.error), std::string::npos) << r.output;
  EXPECT_NE(r.output.find(place + " "), std::string::npos) << "want " << place << "\n" << r.output;
  EXPECT_NE(r.output.find(m.detail), std::string::npos) << "want " << m.detail << "\n" << r.output;
}
