// sotto.hpp - Sotto in C++17: handles that own their memory, errors, ranges, and callbacks of any kind. The binding is
// header-only and wraps the C interface. The comments of sotto.h specify every parameter and function. Link with
// libsotto.
//
//   auto model = sotto::Model::open("demo.sotto");
//   auto session = sotto::Session::create(model);
//   for (const sotto::Piece& piece : session.stream("Once upon a time", 100)) std::cout << piece.text();
//
// Errors   A call that fails throws sotto::Error. If SOTTO_HPP_NO_EXCEPTIONS is defined, every function that can fail
//          returns sotto::Expected<T> instead of T. One program may contain both kinds of code.
// Handles  Handles are move-only and keep the objects that they use alive: a session its model, a matcher its grammar,
//          and so on. A moved-from handle may only be destroyed or assigned to.
// Threads  Any number of threads may use one Model, Vocabulary or Grammar; other objects may be used by one thread at a
//          time. Session::canceller() returns an object that another thread may use.
// Params   Parameters inherit the C structs of the same names and set their defaults. Lists are vectors, and callbacks
//          are std::functions; they replace the pointers and counts of the C structs.
#ifndef SOTTO_HPP
#define SOTTO_HPP

#include "sotto/base.hpp"
#include "sotto/chat.hpp"
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
#undef SOTTO_HPP_TRY_SESSION_
#undef SOTTO_HPP_TRY_WHOLE_

#endif  // SOTTO_HPP
