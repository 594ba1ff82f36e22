/* sotto.h - the public interface of the runtime, and its specification.
 *
 * Read in this order: sotto_base.h, sotto_model.h, sotto_session.h, sotto_sampler.h; then, as
 * needed, sotto_grammar.h, sotto_search.h, sotto_speculation.h. sotto_memory.h, which this header
 * does not include, computes memory sizes at compile time. Enums and structs come from the tables
 * in capi/params; functions are described in the headers alone.
 *
 * What holds for every function below:
 *   Memory   The library allocates nothing for you: an object lives in the memory
 *            you pass to its _init function, until its _deinit or until you reuse
 *            that memory. The matching _memory_size returns its size. The only things
 *            kept elsewhere are a session's worker threads and a few hundred bytes
 *            of CPU detection, all made inside an _init. After _init nothing
 *            allocates, in any mode.
 *   Pointers Never NULL unless the comment says "may be NULL".
 *   Structs  Begin with struct_size = sizeof the struct as the caller knows it;
 *            the matching _params_init writes it together with the defaults. For
 *            structs the library fills in (info, timings, error) the caller sets it.
 *   Text     UTF-8 with an explicit size in bytes; no terminator is needed.
 *   Threads  Any number of threads may read one model. A session belongs to one
 *            thread at a time; only sotto_session_cancel may be called from another.
 *   Failure  A negative status leaves outputs unwritten and objects usable as
 *            before the call, unless the comment says otherwise.
 *   Bits     Same model, prompt, parameters and seed give the same tokens and the
 *            same logits, bit for bit, on every CPU, thread count and batch size.
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
