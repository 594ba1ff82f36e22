/* sotto.h - the public interface of the runtime, and its specification.
 *
 * Read the headers in this order: sotto_base.h, sotto_model.h, sotto_session.h, sotto_sampler.h;
 * then, as needed, sotto_grammar.h, sotto_search.h and sotto_speculation.h. sotto_memory.h, which
 * this header does not include, computes memory sizes at compile time. The enums and structs are
 * generated from the tables in capi/params; the functions are described only here.
 *
 * The following holds for every function:
 *   Memory   The library does not allocate. An object lives in the block of memory
 *            that is passed to its _init function, until its _deinit or until the
 *            block is reused. The matching _memory_size function returns the size
 *            of the block. Only a session's worker threads and a few hundred bytes
 *            of their pool are kept elsewhere, and an _init function creates them.
 *            After _init nothing is allocated, in any mode.
 *   Pointers A pointer must not be NULL unless its comment says "may be NULL".
 *   Structs  A struct begins with struct_size, which is sizeof the struct that the
 *            caller was compiled with. The matching _params_init sets it together
 *            with the defaults. In structs that the library fills in (info,
 *            timings, error), the caller sets it.
 *   Text     Text is UTF-8 with an explicit size in bytes, without a terminator.
 *   Threads  Any number of threads may use one model. A session is used by one
 *            thread at a time; only sotto_session_cancel may come from another one.
 *   Callbacks Those of samplers and searches run inside a step of their session.
 *            Until they return, that session, its guide and its draft session
 *            accept only sotto_session_cancel and the functions that read info,
 *            timings and errors; the others return INVALID_STATE, and functions
 *            without a status do nothing. Their matcher must not be used either.
 *            The callback of sotto_session_generate runs between tokens and may
 *            call every function but sotto_session_deinit, which then does nothing.
 *   Fork     A child process has none of the worker threads. There, sessions with
 *            threads continue on the calling thread, and sotto_session_deinit
 *            leaves a few hundred bytes allocated.
 *   Failure  A call that returns a negative status leaves its outputs unwritten
 *            and its objects unchanged, unless the comment says otherwise.
 *   Bits     The same model, prompt, parameters and seed give the same tokens and
 *            logits, bit for bit, with every CPU, thread count and batch size.
 */
#ifndef SOTTO_H
#define SOTTO_H

#include "sotto_base.h"
#include "sotto_grammar.h"
#include "sotto_model.h"
#include "sotto_sampler.h"
#include "sotto_search.h"
#include "sotto_session.h"
#include "sotto_speculation.h"

#endif /* SOTTO_H */
