// What the terminal behind a descriptor understands.
#pragma once

namespace warpgrade {

// Whether a line on it can be written again and cleared: it is a terminal, and TERM does not say that it
// shows escape codes as text (`dumb`, or nothing), and nobody asked for plain text (NO_COLOR).
bool takes_escape_codes(int descriptor);

}  // namespace warpgrade
