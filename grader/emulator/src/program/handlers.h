// The instructions' handlers by name ("add.s32"), as exec/ fills them in for the instruction-set level that this machine
// has: v2, v3 or v4 of x86-64, base on every other processor.
#pragma once
#include "program/instruction.h"

namespace warpgrade::emu {

class HandlerTable {
 public:
  // The parts are joined by dots; empty ones are skipped.
  void add(Handler handler, const char* op, const char* modifier = "", const char* type = "");
  // nullptr when there is none.
  Handler find(const char* name) const;

 private:
  struct Impl;
  Impl* impl_ = nullptr;  // lives as long as the process
};

const HandlerTable& handlers();
const char* isa_name();

}  // namespace warpgrade::emu
