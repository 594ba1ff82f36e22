// Compares guidance by a second session, and the contrast of layers, with the formulas in double precision.
#include <cmath>

#include "runtime/session/contrast.h"
#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3};
const std::vector<int32_t> kNegative = {9, 5, 4, 4};

void with_guide(SessionParams& params) { params.features = kFeatureGuide; }

std::vector<double> log_softmax(const std::vector<float>& logits) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit});
  std::vector<double> result;
  for (const float logit : logits) result.push_back(double{logit} - std::log(sum));
  return result;
}

size_t argmax(const std::vector<double>& x) {
  return static_cast<size_t>(std::max_element(x.begin(), x.end()) - x.begin());
}

// Greedy choices of a guided session must equal the choices by the formula over two separate sessions.
void expect_choices(const Model& guide_model, const GuideParams& params,
                    const std::function<double(double, double, double)>& mix) {
  OpenedSession session(text_model(2, 1), with_guide), guide(guide_model);
  OpenedSession one(text_model(2, 1)), other(guide_model);
  session.sample(0, [](SamplerParams& sampler) {
    sampler.temperature = 0;
    sampler.ignore_end = true;
  });
  session.prefill(kPrompt);
  one.prefill(kPrompt);
  guide.prefill(kNegative);
  other.prefill(kNegative);
  Error error;
  ASSERT_EQ(session->set_guide(guide.get(), params, &error), Status::kOk) << error.message;
  for (int i = 0; i < 25; ++i) {
    const auto p = log_softmax(one.logits()), q = log_softmax(other.logits());
    const double max = p[argmax(p)];
    std::vector<double> mixed;
    for (size_t t = 0; t < p.size(); ++t) mixed.push_back(mix(p[t], q[t], max));
    mixed[kEndToken] = -1e300;
    ASSERT_EQ(session->next(nullptr), Status::kOk);
    const auto token = static_cast<size_t>(session->piece().token);
    EXPECT_NEAR(mixed[token], mixed[argmax(mixed)], 1e-5);
    one.prefill({session->piece().token});
    other.prefill({session->piece().token});
    EXPECT_EQ(guide->token_count(), kNegative.size() + static_cast<size_t>(i) + 1);
  }
  EXPECT_EQ(session.logits(), one.logits());  // the model's own logits, without the guide
  EXPECT_EQ(guide.logits(), other.logits());
}

TEST(Guide, ClassifierFreeGuidance) {
  for (const float scale : {0.0f, 0.5f, 1.0f, 1.5f, 6.0f}) {
    GuideParams params;
    params.scale = scale;
    expect_choices(text_model(2, 1), params, [&](double p, double q, double) { return double{scale} * (p - q) + q; });
  }
}

TEST(Guide, ContrastiveChoicesEqualTheFormula) {
  for (const float alpha : {0.01f, 0.1f, 0.9f}) {
    for (const float beta : {0.0f, 0.5f, 4.0f}) {
      GuideParams params;
      params.mode = GuideMode::kContrast;
      params.alpha = alpha;
      params.beta = beta;
      expect_choices(text_model(1, 3), params, [&](double p, double q, double max) {
        if (p < max + std::log(double{alpha})) return -1e300;
        return (1 + double{beta}) * p - double{beta} * q;
      });
    }
  }
}

TEST(Guide, EqualsTheFormulaInDouble) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 3);
  const Kernels& kernels = text_model().kernels();
  for (int round = 0; round < 100; ++round) {
    std::vector<float> logits(1500), guide(1500), mixed(1500);
    for (float& x : logits) x = normal(random);
    for (float& x : guide) x = normal(random);
    GuideParams params;
    params.scale = 2.5f;
    mix_guide(kernels, params, logits, guide, mixed.data());
    const auto p = log_softmax(logits), q = log_softmax(guide);
    for (size_t i = 0; i < p.size(); ++i) {
      ASSERT_NEAR(double{mixed[i]}, 2.5 * (p[i] - q[i]) + q[i], 1e-4);
    }
    params.scale = 1;
    mix_guide(kernels, params, logits, guide, mixed.data());
    for (size_t i = 0; i < p.size(); ++i) ASSERT_NEAR(double{mixed[i]}, p[i], 1e-5);
    params.mode = GuideMode::kContrast;
    mix_guide(kernels, params, logits, guide, mixed.data());
    const float max = *std::max_element(logits.begin(), logits.end());
    for (size_t i = 0; i < p.size(); ++i) {
      if (std::isinf(mixed[i])) {
        ASSERT_LT(double{logits[i]}, double{max} + std::log(0.1) + 1e-5);
      } else {
        ASSERT_NEAR(double{mixed[i]}, 1.5 * double{logits[i]} - 0.5 * double{guide[i]}, 1e-4);
      }
    }
  }
}

TEST(Guide, FollowsRewindsBansAndReset) {
  std::mt19937 random(2);
  for (uint64_t seed = 0; seed < 30; ++seed) {
    OpenedSession session(text_model(2, 1), with_guide), guide(text_model(2, 1));
    session.sample(seed, [](SamplerParams& params) { params.ignore_end = true; });
    session.ban(random_strings(random, 2, 6));
    session.prefill(kPrompt);
    guide.prefill(kNegative);
    ASSERT_EQ(session->set_guide(guide.get(), {}, nullptr), Status::kOk);
    const Generated all = session.generate(30);
    for (uint64_t kept : {20u, 11u, 3u, 0u}) {
      ASSERT_EQ(session->rewind(kPrompt.size() + kept, nullptr), Status::kOk);
      EXPECT_EQ(guide->token_count(), kNegative.size() + kept);
      const Generated again = session.generate(30 - kept);
      EXPECT_TRUE(
          std::equal(again.tokens.begin(), again.tokens.end(), all.tokens.begin() + static_cast<ptrdiff_t>(kept)));
    }
    session->reset();
    EXPECT_EQ(guide->token_count(), kNegative.size());
    session.prefill(kPrompt);
    EXPECT_EQ(session.generate(30).tokens, all.tokens);
  }
}

TEST(Guide, FullGuideContextEndsTheText) {
  OpenedSession session(text_model(), with_guide);
  OpenedSession guide(text_model(), [](SessionParams& params) { params.context_tokens = 16; });
  session.sample(1, [](SamplerParams& params) { params.ignore_end = true; });
  session.prefill(kPrompt);
  guide.prefill(kNegative);
  ASSERT_EQ(session->set_guide(guide.get(), {}, nullptr), Status::kOk);
  const Generated some = session.generate(60);
  EXPECT_EQ(some.end, Status::kStopContextFull);
  EXPECT_EQ(some.tokens.size(), 13u);
  ASSERT_EQ(session->set_guide(nullptr, {}, nullptr), Status::kOk);
  EXPECT_EQ(session->next(nullptr), Status::kOk);
}

// A ring has dropped the guide's prompt, so the guide does not fit the text after a reset.
TEST(Guide, ResetAfterTheGuidesRingWasFullNeedsTheGuideAgain) {
  OpenedSession session(text_model(), with_guide);
  OpenedSession guide(text_model(), [](SessionParams& params) {
    params.context_tokens = 16;
    params.overflow = Overflow::kRing;
  });
  session.sample(1, [](SamplerParams& params) { params.ignore_end = true; });
  session.prefill(kPrompt);
  guide.prefill(kNegative);
  ASSERT_EQ(session->set_guide(guide.get(), {}, nullptr), Status::kOk);
  ASSERT_EQ(session.generate(60).tokens.size(), 60u);
  session->reset();
  session.prefill(kPrompt);
  EXPECT_EQ(session->next(nullptr), Status::kInvalidState);
  ASSERT_EQ(session->set_constraint({}, nullptr), Status::kOk);
  EXPECT_EQ(session->next(nullptr), Status::kInvalidState);
  ASSERT_EQ(session->set_guide(guide.get(), {}, nullptr), Status::kOk);
  EXPECT_EQ(session->next(nullptr), Status::kOk);
}

TEST(Guide, IsNotSetIfOneOfTheSessionsCannotRollBack) {
  const int32_t a = token_of("a"), b = token_of("b");
  Automaton automaton({{{a, 0}, {b, 0}}}, {}), other({{{a, 0}, {b, 0}}}, {});
  OpenedSession session(text_model(), with_guide), guide(text_model());
  for (const auto& [opened, constraint] : {std::pair(&session, &automaton), std::pair(&guide, &other)}) {
    opened->sample(11);
    opened->ban({"aaaaab", "bbbbba"});
    opened->prefill({1, 2, 3});
    ASSERT_EQ((*opened)->set_constraint(constraint->get(), nullptr), Status::kOk);
    ASSERT_EQ(opened->generate(3).tokens.size(), 3u);
    ASSERT_GT((*opened)->token_count(), 6u);  // further tokens are buffered
  }
  const uint64_t own_count = session->token_count(), guide_count = guide->token_count();
  for (const bool own : {false, true}) {
    automaton.memory = own ? 0 : SIZE_MAX;
    other.memory = own ? SIZE_MAX : 0;
    EXPECT_EQ(session->set_guide(guide.get(), {}, nullptr), Status::kInvalidState);
    EXPECT_EQ(session->token_count(), own_count);
    EXPECT_EQ(guide->token_count(), guide_count);
  }
  Error error;
  EXPECT_EQ(session->set_guide(nullptr, {}, &error), Status::kOk);
  EXPECT_STREQ(error.message, "");
}

TEST(Guide, RejectionNamesTheArgument) {
  OpenedSession session(text_model(), with_guide), other(text_model(), with_guide);
  OpenedSession plain(text_model()), third(text_model());
  const auto refuse = [](OpenedSession& from, Session* guide, const std::string& name, const GuideParams& params = {},
                         Status status = Status::kInvalidArgument) {
    Error error;
    EXPECT_EQ(from->set_guide(guide, params, &error), status);
    EXPECT_NE(std::string(error.message).find(name), std::string::npos) << error.message;
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float wrong : {-0.5f, 101.0f, nan}) {
    refuse(session, plain.get(), "scale", {GuideMode::kCfg, wrong, 0.1f, 0.5f});
    refuse(session, plain.get(), "beta", {GuideMode::kContrast, 1, 0.1f, wrong});
    refuse(session, plain.get(), "alpha", {GuideMode::kContrast, 1, wrong, 0.5f});
  }
  refuse(session, plain.get(), "alpha", {GuideMode::kContrast, 1, 0, 0.5f});
  refuse(session, plain.get(), "mode", {GuideMode::kOff, 1, 0.1f, 0.5f});
  refuse(session, plain.get(), "mode", {static_cast<GuideMode>(3), 1, 0.1f, 0.5f});
  refuse(session, session.get(), "guide is the session itself");
  refuse(plain, session.get(), "features", {}, Status::kInvalidState);
  OpenedSession mute(model_without_text());
  refuse(session, mute.get(), "vocabulary_size");
  OpenedSession drafted(text_model(), [](SessionParams& params) { params.draft_tokens = 4; });
  OpenedSession drafter(text_model(), with_guide);
  SpeculationParams drafts;
  drafts.sources = kDraftSession;
  drafts.draft_session = drafter.get();
  ASSERT_EQ(drafted->set_speculation(drafts, nullptr), Status::kOk);
  refuse(session, drafter.get(), "guide is the draft session");
  refuse(drafter, third.get(), "the session is a draft session itself");
  ASSERT_EQ(session->set_guide(plain.get(), {}, nullptr), Status::kOk);
  refuse(other, session.get(), "guide has a guide itself");
  refuse(other, plain.get(), "guides another");
  ASSERT_EQ(session->set_guide(plain.get(), {}, nullptr), Status::kOk);  // sets it a second time
  OpenedSession guided_guide(text_model(), with_guide);
  ASSERT_EQ(other->set_guide(guided_guide.get(), {}, nullptr), Status::kOk);
  refuse(guided_guide, third.get(), "the session is a guide");
  session.prefill(kPrompt);
  EXPECT_EQ(session->next(nullptr), Status::kInvalidState);  // the guide has no tokens
  plain.prefill(kNegative);
  EXPECT_EQ(session->next(nullptr), Status::kOk);
}

TEST(PrematureLayers, CoverTheLayersOfDoLa) {
  // DoLa compares every other layer of one half (dola_layers "low" and "high" of transformers).
  for (uint32_t layers = 1; layers <= 40; ++layers) {
    const uint32_t half = layers / 2;
    const uint32_t low = (half + 1) / 2, high = (layers - half + 1) / 2;
    EXPECT_GE(premature_layer_count(layers), std::max({low, high, 1u})) << layers;
  }
  EXPECT_EQ(premature_layer_count(48), 10u);
}

// Computes what contrast_layers() should return, from the premature logits of the context.
TEST(Dola, ContrastsTheLayerThatDivergesMost) {
  const Model& model = text_model(8, 5);
  for (const DolaLayers which : {DolaLayers::kLow, DolaLayers::kHigh}) {
    const std::vector<uint32_t> layers =
        which == DolaLayers::kLow ? std::vector<uint32_t>{2} : std::vector<uint32_t>{4, 6};
    OpenedSession session(model, [](SessionParams& params) { params.features = kFeatureDola; });
    SessionParams shape;
    shape.context_tokens = shape.batch_tokens = 64;
    shape.features = kFeatureDola;
    TestSequence own(model, shape);
    KvSequence& plain = own.sequence;
    const Cancellation never;
    session.sample(0, [&](SamplerParams& params) {
      params.temperature = 0;
      params.ignore_end = true;
      params.dola = which;
      params.dola_relative_top = 0.05f;
    });
    session.prefill(kPrompt);
    ASSERT_EQ(plain.append(kPrompt, never), Status::kOk);
    for (int i = 0; i < 40; ++i) {
      const auto p = log_softmax({plain.logits().begin(), plain.logits().end()});
      std::vector<std::vector<double>> premature;
      for (const uint32_t layer : layers) {
        std::vector<float> row(p.size());
        plain.forward().apply_head(Forward::HeadInput::kState,
                                   plain.layer_states().state(layer, plain.batch_row_count() - 1), 0, 1, row.data());
        premature.push_back(log_softmax(row));
      }
      size_t best = 0;
      double largest = -1;
      for (size_t k = 0; k < layers.size(); ++k) {
        double divergence = 0;
        for (size_t t = 0; t < p.size(); ++t) {
          const double a = std::exp(p[t]), b = std::exp(premature[k][t]), m = (a + b) / 2;
          divergence += m * (std::log(m / a) + std::log(m / b));
        }
        if (divergence > largest) largest = divergence, best = k;
      }
      std::vector<double> mixed;
      for (size_t t = 0; t < p.size(); ++t) {
        const bool plausible = p[t] >= p[argmax(p)] + std::log(0.05) && t != kEndToken;
        mixed.push_back(plausible ? p[t] - premature[best][t] : -1e300);
      }
      ASSERT_EQ(session->next(nullptr), Status::kOk);
      EXPECT_NEAR(mixed[static_cast<size_t>(session->piece().token)], mixed[argmax(mixed)], 1e-5);
      const int32_t token = session->piece().token;
      ASSERT_EQ(plain.append({&token, 1}, never), Status::kOk);
    }
  }
}

TEST(Dola, WorksWithEverythingElse) {
  const Model& model = text_model(8, 5);
  const auto shape = [](SessionParams& params) {
    params.features = kFeatureDola | kFeatureGuide;
    params.context_tokens = 16;
    params.overflow = Overflow::kRing;
  };
  OpenedSession session(model, shape), guide(model), forked(model, shape);
  const auto layers = [](SamplerParams& params) {
    params.dola = DolaLayers::kHigh;
    params.ignore_end = true;
  };
  session.sample(3, layers);
  forked.sample(3, layers);
  session.prefill(kPrompt);
  const Generated some = session.generate(9);
  ASSERT_EQ(SavedState::fork(*session, forked.get(), nullptr), Status::kOk);
  EXPECT_EQ(forked.generate(30).tokens, session.generate(30).tokens);
  session.prefill(kPrompt);
  guide.prefill(kNegative);
  ASSERT_EQ(session->set_guide(guide.get(), {}, nullptr), Status::kOk);
  EXPECT_EQ(session.generate(30).tokens.size(), 30u);
}

TEST(Dola, RejectedWithoutFeatureOrLayers) {
  SamplerParams params;
  params.dola = DolaLayers::kLow;
  Error error;
  OpenedSession without(text_model(8, 5));
  EXPECT_EQ(without->set_sampler(params, &error), Status::kInvalidArgument);
  EXPECT_EQ(std::string(error.message).rfind("dola", 0), 0u) << error.message;
  OpenedSession shallow(text_model(3, 1), [](SessionParams& each) { each.features = kFeatureDola; });
  EXPECT_EQ(shallow->set_sampler(params, &error), Status::kInvalidArgument);
  EXPECT_STREQ(error.message, "dola is LOW; it must be HIGH for a model with 3 layers and a tied head");
  params.dola = DolaLayers::kHigh;
  EXPECT_EQ(shallow->set_sampler(params, &error), Status::kOk);
}

}  // namespace
}  // namespace sotto
