/* For the program that holds a submission's plan, run and free: what the executor asks of it. Our libcudart
 * has these beside CUDA's functions; a program finds them with dlsym, or links against the library. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct warpgrade_executor_command {
  uint32_t number;
  uint32_t unused;
  uint64_t arguments[16];
};

/* Waits for the next command. Returns 0, or -1 when there is no executor any more. */
int warpgrade_executor_next_command(struct warpgrade_executor_command* command);

/* The command is done: `status` 0 or an error of the program's own, and a text of less than 16 KiB. */
int warpgrade_executor_done(int64_t status, const char* message);

/* A call that does nothing, there and back: for measurements. */
int warpgrade_executor_ping(void);

/* Memory that the judge lends: a range of device memory that no call of the program allocated; 0 bytes: it is
 * gone. */
void warpgrade_executor_lent(uint64_t address, uint64_t bytes);

/* Tells the executor where allocations were made: of `count` addresses those that are known. Numbers of calls
 * may stand among them (wire.h). */
void warpgrade_executor_report_places(const uint64_t* addresses, size_t count);

/* Where the calls come from that this thread makes from now on, for a program in an interpreter, which has no debug
 * information; line 0: from nowhere that is to be told. */
void warpgrade_executor_tell_place(const char* path, uint32_t line);

#ifdef __cplusplus
}
#endif
