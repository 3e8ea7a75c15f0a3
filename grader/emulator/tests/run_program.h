// Runs one of the CUDA programs of programs/ on the emulator, in a process of its own.
#pragma once
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <string>

struct Result {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};

inline Result run(const std::string& program, const std::string& arguments = "",
                  const std::string& environment = "", const std::string& before = "") {
  const std::string command = before + "env LD_LIBRARY_PATH=" WARPEMU_LIBRARY_DIR " WARPEMU_THREADS=2 " +
                              environment + " " WARPEMU_PROGRAM_DIR "/" + program + " " + arguments + " 2>&1";
  Result result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  size_t n;
  while ((n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0) result.output.append(buffer, n);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

// The line of a program's source that carries "MISTAKE ... name ...", or another mark.
inline int marked_line(const std::string& source, const std::string& name,
                       const std::string& word = "MISTAKE") {
  std::ifstream file(std::string(WARPEMU_SOURCE_DIR "/programs/") + source);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const size_t mark = line.find(word);
    if (mark != std::string::npos && (line.substr(mark) + " ").find(" " + name + " ") != std::string::npos)
      return number;
  }
  return -1;
}
