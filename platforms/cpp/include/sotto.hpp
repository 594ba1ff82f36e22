// sotto.hpp - Sotto in C++17: handles that own their memory, errors, ranges, callbacks of any kind.
// Header only, over the C interface sotto.h, whose comments say what every parameter and function
// means; link libsotto.
//
//   auto model = sotto::Model::open("demo.sotto");
//   auto session = sotto::Session::create(model);
//   session.prefill("Once upon a time");
//   for (const sotto::Piece& piece : session.stream(100)) std::cout << piece.text();
//
// Errors   What fails throws sotto::Error. With SOTTO_HPP_NO_EXCEPTIONS defined every function that
// can fail returns
//          sotto::Expected<T> in place of T instead; both kinds may live in one program.
// Handles  Move only. Each keeps alive what it uses: a session its model, a matcher its grammar,
// and so on. A handle
//          that was moved from may only be assigned to or destroyed.
// Threads  Any number of threads may use one Model, Vocabulary or Grammar; anything else belongs to
// one at a time.
//          Session::canceller() gives what another thread may call.
// Params   Structs of the C interface with their defaults filled in, under the same names; lists
// are vectors, and
//          callbacks std::functions, so that pointers and counts of the C struct of the same name
//          are ignored.
#ifndef SOTTO_HPP
#define SOTTO_HPP

#include "sotto/base.hpp"
#include "sotto/grammar.hpp"
#include "sotto/model.hpp"
#include "sotto/params.hpp"
#include "sotto/sampler.hpp"
#include "sotto/session.hpp"
#include "sotto/stream.hpp"

#undef SOTTO_HPP_ERRORS_
#undef SOTTO_HPP_FAIL_
#undef SOTTO_HPP_DONE_
#undef SOTTO_HPP_TRY_
#undef SOTTO_HPP_TRY_PLAIN_

#endif  // SOTTO_HPP
