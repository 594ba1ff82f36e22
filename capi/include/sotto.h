/* sotto.h - the public interface of the runtime, and its specification.
 *
 * Read the headers in this order: sotto_base.h, sotto_model.h, sotto_session.h, sotto_sampler.h;
 * then, as needed, sotto_chat.h, sotto_grammar.h, sotto_search.h and sotto_speculation.h.
 * sotto_memory.h, which this header does not include, computes memory sizes at compile time.
 *
 * The following holds for every function:
 *   Memory   The library does not allocate. An object lives in the block of memory
 *            that is passed to its _init function, until its _deinit or until the
 *            block is reused. The matching _memory_size function returns the size
 *            of the block. The only other memory is the stacks of a session's
 *            worker threads, which the system allocates in sotto_session_init.
 *            After _init nothing is allocated, in any mode.
 *   Pointers A pointer must not be NULL unless its comment says "may be NULL".
 *            `params` may be NULL in every function; the defaults then apply.
 *            A function that replaces a setting then restores the initial setting.
 *   Structs  A struct that may grow in later versions begins with struct_size: its
 *            sizeof when the caller was compiled. In parameters, _params_init sets
 *            it together with the defaults. In structs that the library fills in
 *            (info, timings, error), the caller sets it.
 *   Text     Text is UTF-8 with an explicit size in bytes, without a terminator.
 *   Threads  Any number of threads may use one model. One thread at a time may use
 *            a session; only sotto_session_cancel may be called from another one.
 *            Threads that call the library or run tasks of an executor must use the
 *            default floating-point environment: rounding to nearest, and denormals
 *            kept.
 *   Callbacks While a callback of a sampler or a search runs, its session, the
 *            session's guide and its draft session accept only
 *            sotto_session_cancel and the functions that read info, timings and
 *            errors. Other functions return INVALID_STATE, or do nothing if they
 *            return no status. The callback must not use their matchers.
 *            The callback of sotto_session_generate runs between tokens. It may
 *            call every function; sotto_session_deinit does nothing there.
 *   Fork     A child process has none of the worker threads. Its copies of
 *            sessions with threads continue on the calling thread.
 *   Failure  A call that returns a negative status leaves its outputs unwritten
 *            and its objects unchanged, unless the comment says otherwise.
 *   Bits     The same model, prompt, parameters and seed give the same tokens and
 *            logits, bit for bit, with every CPU, thread count and batch size.
 */
#ifndef SOTTO_H
#define SOTTO_H

#include "sotto_base.h"
#include "sotto_chat.h"
#include "sotto_grammar.h"
#include "sotto_model.h"
#include "sotto_sampler.h"
#include "sotto_search.h"
#include "sotto_session.h"
#include "sotto_speculation.h"

#endif /* SOTTO_H */
