/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* libtilec: compiles kernels written in the language of Triton's @triton.jit functions and launches
 * them through the CUDA driver.
 *
 *     tile_context      configuration: cache, assembler, driver
 *     tile_kernel       a compiled kernel: PTX, cubin, facts. Immutable
 *     tile_device       a GPU with its primary context, or this machine
 *     tile_executable   a kernel loaded on a device. Immutable
 *     tile_cancellation ends compilations from another thread
 *     tile_function     a kernel that is compiled when it is called, for types and values given
 *     tile_bundle       kernels compiled ahead of time, all in one file
 *
 * It is declared in parts that can be included by themselves, too:
 *
 *     tilec/base.h      statuses, texts, contexts, diagnostics
 *     tilec/compile.h   compilations, cancellations, lists of kernels, manifests
 *     tilec/units.h     kernels whose functions a program has one by one
 *     tilec/device.h    devices, memory, streams, launches of kernels that are loaded
 *     tilec/host.h      devices that are this machine, without a GPU
 *     tilec/function.h  functions and the arguments of their calls
 *     tilec/bundle.h    bundles
 *
 * Conventions
 *   - Functions that can fail return a tile_status. Outputs are written on success only, but
 * diagnostics: where a function has a `diagnostics` parameter (NULL is allowed), it receives a list
 * whenever there is something to say, be it errors, warnings or remarks, and NULL otherwise; the
 * caller destroys it.
 *   - Texts are pointer and length, need no terminating zero, and are copied when the library keeps
 * them. Texts that the library returns are zero-terminated, too, and live as long as the object
 * they come from.
 *   - Option structs begin with their size: set it to sizeof of the struct, and what is not needed
 * to zero. A library that is newer or older than the header takes what both know.
 *   - Objects are destroyed by their owner, after everything that was made from them: executables
 * before their device, all before the context. NULL is allowed in every destroy function.
 *   - The library keeps no global state, never exits or aborts, and prints nothing but what kernels
 * print on a device that is this machine, where nobody takes that.
 *
 * Threads: unless a function says otherwise, any thread may call it at any time, also on the same
 * objects; only destroying an object must not overlap with its use. */
#ifndef TILEC_H
#define TILEC_H
#include "tilec/base.h"
#include "tilec/bundle.h"
#include "tilec/compile.h"
#include "tilec/device.h"
#include "tilec/function.h"
#include "tilec/host.h"
#include "tilec/units.h"
#endif
