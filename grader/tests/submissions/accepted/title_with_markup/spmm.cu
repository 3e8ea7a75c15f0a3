// Has a title of markup, control characters and a spreadsheet's formula.
// Gain: script in a report, a forged line in a terminal or a table.
#include "honest.cuh"

ANSWERS_HONESTLY

PLANS_NOTHING
