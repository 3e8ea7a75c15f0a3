// Older submissions include this name for their course's own comparison of results. Here the judge compares.
#pragma once

#include "data.h"
