// What a student's connection gets: `warpgrade desk --student ID`, which sshd runs for the student's key and
// nothing else. It takes in a submission, tells how the own runs stand, and can do nothing more.
#pragma once

#include <filesystem>
#include <string>

namespace warpgrade::desk {

struct StudentSessionOptions {
  std::filesystem::path desk;
  std::string student;
};

// Serves standard input and output to the connection's end. Returns the exit code.
int serve_connection(const StudentSessionOptions& options);

}  // namespace warpgrade::desk
