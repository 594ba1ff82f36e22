// The commands of the program. The table at the end is the source of dispatch, help texts, completions and the manual
// page.
#pragma once

#include <functional>

#include "platforms/command_line/command_line.h"

namespace sotto::cli {

using Run = std::function<int()>;  // returns the exit code; throws Failure

// Adds the options of a command. If the command line names the command, sets `run` to the function that executes it.
// Both arguments must live until then.
using Declare = void(Command& command, Run& run);

Declare declare_generate;
Declare declare_chat;
Declare declare_tokenize;
Declare declare_inspect;
Declare declare_plan;
Declare declare_list;
Declare declare_sample;
Declare declare_next;
Declare declare_explore;
Declare declare_compare;
Declare declare_score;
Declare declare_eval;
Declare declare_eval_perplexity;
Declare declare_eval_answers;
Declare declare_eval_choices;
Declare declare_eval_preferences;
Declare declare_eval_kl;
Declare declare_eval_bleu;
Declare declare_eval_rouge;
Declare declare_embed;
Declare declare_detect;
Declare declare_grammar;
Declare declare_grammar_check;
Declare declare_grammar_mask;
Declare declare_grammar_compile;
Declare declare_help;
Declare declare_completion;

struct CommandRow {
  const char* path;               // "check" of "grammar" is "grammar check"; its row is after that of "grammar"
  const char* summary;            // one line
  Declare* declare;               // null: the command is part of another program
  bool has_defaults;              // reads SOTTO_MODEL and the configuration file
  const char* readme;             // explains the command; null if its help says all
  const char* program = nullptr;  // the other program; "sotto-NAME" if NAME is its only command
};

inline constexpr char kReadme[] = "platforms/cli/README.md";
inline constexpr char kDecodingReadme[] = "platforms/cli/decoding_analysis/README.md";
inline constexpr char kEvalReadme[] = "platforms/cli/eval/README.md";
inline constexpr char kSignatureReadme[] = "platforms/signature/README.md";

// In the order of help texts.
inline constexpr CommandRow kCommands[] = {
    {"generate", "Continue a prompt, streaming the text", declare_generate, true, kReadme},
    {"chat", "Hold a conversation, on a terminal or line by line", declare_chat, true, "platforms/cli/chat/README.md"},
    {"tokenize", "Convert text to token ids, or back", declare_tokenize, true, nullptr},
    {"inspect", "Show the shape and the memory of a model", declare_inspect, true, nullptr},
    {"plan", "Compute the memory of a model and a session, and what fits into a budget", declare_plan, true, kReadme},
    {"list", "List the models of a directory", declare_list, true, kReadme},
    {"sample", "Show which tokens of given logits the sampler keeps, with their probabilities", declare_sample, true,
     nullptr},
    {"next", "Show which tokens may follow a text, and what the sampler keeps of them", declare_next, true,
     kDecodingReadme},
    {"explore", "Show what temperatures and other settings do to the next token and to the text", declare_explore, true,
     kDecodingReadme},
    {"compare", "Continue a prompt with several strategies, and compare the texts", declare_compare, true,
     kDecodingReadme},
    {"score", "Compute the probability of a text under a model", declare_score, true, nullptr},
    {"eval", "Evaluate texts and models on data sets", declare_eval, false, kEvalReadme},
    {"eval perplexity", "Compute the perplexity and the bits per byte of texts", declare_eval_perplexity, true,
     kEvalReadme},
    {"eval answers", "Compute the probability of answers to prompts", declare_eval_answers, true, kEvalReadme},
    {"eval choices", "Compute the accuracy in multiple choice", declare_eval_choices, true, kEvalReadme},
    {"eval preferences", "Measure how much a model prefers chosen texts: margins, Bradley-Terry, DPO loss",
     declare_eval_preferences, true, kEvalReadme},
    {"eval kl", "Compute the Kullback-Leibler divergence of a model from another one over a text", declare_eval_kl,
     true, kEvalReadme},
    {"eval bleu", "Compare texts with references: BLEU, as sacrebleu computes it", declare_eval_bleu, true,
     kEvalReadme},
    {"eval rouge", "Compare texts with references: ROUGE-1, ROUGE-2 and ROUGE-L", declare_eval_rouge, true,
     kEvalReadme},
    {"embed", "Compute the vector of a text", declare_embed, true, nullptr},
    {"detect", "Look for a watermark in a text", declare_detect, true, "runtime/sampling/watermark/README.md"},
    {"grammar", "Check, inspect and compile grammars", declare_grammar, false, nullptr},
    {"grammar check", "Check a grammar, and which texts match it as a whole", declare_grammar_check, true, nullptr},
    {"grammar mask", "Show which tokens may follow the beginning of a text", declare_grammar_mask, true, nullptr},
    {"grammar compile", "Write a grammar as an image that is ready to use", declare_grammar_compile, true, nullptr},
    {"keygen", "Make a key for signatures; see sotto keygen --help", nullptr, false, kSignatureReadme,
     "sotto-signature"},
    {"sign", "Sign a model, a grammar image, or a saved session or conversation; see sotto sign --help", nullptr, false,
     kSignatureReadme, "sotto-signature"},
    {"verify", "Verify that a file is what the holder of a key has signed; see sotto verify --help", nullptr, false,
     kSignatureReadme, "sotto-signature"},
    {"serve", "Answer HTTP requests of the OpenAI API; see sotto serve --help", nullptr, false,
     "platforms/server/README.md", "sotto-serve"},
    {"help", "Explain a command, or one group of its options", declare_help, false, nullptr},
    {"completion", "Print a script that completes commands and options", declare_completion, false, nullptr},
};

}  // namespace sotto::cli
