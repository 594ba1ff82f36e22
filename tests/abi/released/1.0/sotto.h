#ifndef SOTTO_H
#define SOTTO_H
#include "sotto_base.h"
#include "sotto_grammar.h"
#include "sotto_model.h"
#include "sotto_sampler.h"
#include "sotto_search.h"
#include "sotto_session.h"
#include "sotto_speculation.h"
#endif
