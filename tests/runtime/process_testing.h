/* Whether tests may start processes. */
#ifndef TILEC_TESTS_PROCESS_TESTING_H
#define TILEC_TESTS_PROCESS_TESTING_H

/* The supervisor of tools is a process in the memory of this one, which ThreadSanitizer takes for
 * the thread that it came from: what that did since then seems unordered. */
#ifdef __SANITIZE_THREAD__
enum { HAS_PROCESSES = 0 };
#else
enum { HAS_PROCESSES = 1 };
#endif
#endif
