// Older submissions include this name for a command-line parser that their course's own main() used. The
// harness owns the command line and hands a submission its sizes through kNumV, kNumE and kLen (data.h).
#pragma once

#include "data.h"
