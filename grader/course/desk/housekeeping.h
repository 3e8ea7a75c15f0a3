// What the supervisor does beside its workers.
#pragma once

#include "course/desk/config.h"
#include "course/desk/queue.h"

namespace warpgrade::desk {

// The metrics, in Prometheus' text format, for node_exporter's textfile collector. Replaced whole.
void write_metrics(const Queue& queue, const Config& config);

// The page <lab>.html of each lab in which a run has ended since it was written: every student's
// latest run that was judged, under pseudonyms. What cannot be rendered is logged.
void write_leaderboards(const Queue& queue, const Config& config, const Log& log);

// DESK/hand-ins/<lab>/<student>.tar.gz of each lab whose policy says `last_remote_counts`: what each
// student's latest judged run was of, for `warpgrade batch RUN --watch DESK/hand-ins/<lab>`.
void write_hand_ins(const Queue& queue, const Config& config, const Log& log);

// After a run has ended: notes how many bytes its files have, and removes what was handed in of one that was
// cancelled. Its page stays for a moment, for the connection that follows it.
void keep_what_counts(Queue& queue, std::int64_t id, const std::string& state);

// The files of runs that ended longer than `feedback_days` ago, and of cancelled ones; what the queue knows
// of them stays. A log that has grown long begins anew beside the old one.
void remove_old_files(Queue& queue, const Config& config, const Log& log);

}  // namespace warpgrade::desk
