/* Streams and graphs of the fake driver: what is launched into a stream that is captured becomes a
 * node of its graph; what capture forbids is refused, and spoils the capture, as with the real
 * driver. */
#ifndef TILEC_TESTS_FAKE_GRAPHS_H
#define TILEC_TESTS_FAKE_GRAPHS_H
#include "cuda_extra.h"
#include "fake_cuda.h"
#include <stdbool.h>

/* CUDA_OK unless a capture forbids it to this thread, which makes that capture invalid. */
CUresult fake_capture_refuses(const char *symbol);
/* Whether the launch's stream is captured: nothing is launched then, and `result` says how that
 * went. Parameters are as long as the state says. */
bool fake_capture_launch(const FakeCuda *state, CUfunction function, const CudaLaunchConfig *config,
                         void **params, CUresult *result);
/* Launches at once: what graphs do when they run. */
void fake_run(CUfunction function, const CudaLaunchConfig *config, void **params);
#endif
