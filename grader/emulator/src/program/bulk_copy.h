// How the decoder packs the operands of cp.async.bulk into an instruction: Inst::vec holds a slot and an
// offset for each address, Inst::flags a bit for each that is 32 bits wide.
#pragma once
#include <cstdint>

namespace warpgrade::emu {

enum BulkOperand : uint8_t { kBulkDestination, kBulkSource, kBulkBarrier };
enum BulkDirection : uint8_t { kGlobalToShared, kSharedToGlobal, kSharedToShared };

}  // namespace warpgrade::emu
