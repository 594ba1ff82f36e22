// `sotto eval bleu` and `sotto eval rouge`: the similarity of texts to references.
#include <memory>

#include "platforms/cli/eval/bleu.h"
#include "platforms/cli/eval/data.h"
#include "platforms/cli/eval/rouge.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/table.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct TextsOptions {
  DataOptions data;
  bool stems = false;
};

// A line {"hypothesis": TEXT, "references": [TEXT, ...]}.
struct ComparedText {
  explicit ComparedText(const Json& line)
      : hypothesis(required_text(line, "hypothesis")), references(required_texts(line, "references")) {
    reject_other_members(line, {"hypothesis", "references", "id"});
  }

  std::string hypothesis;
  std::vector<std::string> references;
};

Json precisions_json(const Bleu& bleu) {
  return Json(std::vector<double>(bleu.precisions.begin(), bleu.precisions.end()));
}

int run_bleu(const TextsOptions& options) {
  BleuCounts counts;
  const std::vector<Json> results = evaluate_lines(options.data, [&](const Json& line) {
    const ComparedText text(line);
    const BleuCounts of_line = count_bleu(text.hypothesis, text.references);
    counts.add(of_line);
    const Bleu sentence = bleu_of(of_line, true);
    return Json{{"bleu", sentence.score}, {"precisions", precisions_json(sentence)}};
  });
  const Bleu bleu = bleu_of(counts, false);
  const double mean = mean_of(results, "bleu");
  std::string precisions;
  for (const double precision : bleu.precisions)
    precisions += (precisions.empty() ? "" : " / ") + decimal(precision, 1);
  const Rows rows = {{"texts", with_thousands(results.size())},
                     {"BLEU", decimal(bleu.score, 2)},
                     {"precisions", precisions + " for 1 to 4 tokens"},
                     {"brevity penalty", decimal(bleu.brevity_penalty, 3)},
                     {"tokens", with_thousands(counts.size) + ", references " + with_thousands(counts.reference_size)},
                     {"mean of sentences", decimal(mean, 2)}};
  print_totals(options.data,
               {{"texts", results.size()},
                {"bleu", bleu.score},
                {"precisions", precisions_json(bleu)},
                {"brevity_penalty", bleu.brevity_penalty},
                {"tokens", counts.size},
                {"reference_tokens", counts.reference_size},
                {"mean_sentence_bleu", mean}},
               results, rows);
  return kExitOk;
}

struct NamedOverlap {
  const char* name;
  const char* json;
  Overlap Rouge::*member;
};
constexpr NamedOverlap kOverlaps[] = {{"ROUGE-1", "rouge_1", &Rouge::rouge_1},
                                      {"ROUGE-2", "rouge_2", &Rouge::rouge_2},
                                      {"ROUGE-L", "rouge_l", &Rouge::rouge_l}};

Json rouge_json(const Rouge& rouge) {
  Json object = Json::object();
  for (const NamedOverlap& overlap : kOverlaps) {
    const Overlap& value = rouge.*overlap.member;
    object[overlap.json] = {{"precision", value.precision}, {"recall", value.recall}, {"f", value.f}};
  }
  return object;
}

int run_rouge(const TextsOptions& options) {
  Rouge sum;
  const std::vector<Json> results = evaluate_lines(options.data, [&](const Json& line) {
    const ComparedText text(line);
    const Rouge rouge = rouge_of(text.hypothesis, text.references, options.stems);
    for (const NamedOverlap& overlap : kOverlaps) {
      Overlap& total = sum.*overlap.member;
      const Overlap& value = rouge.*overlap.member;
      total = {total.precision + value.precision, total.recall + value.recall, total.f + value.f};
    }
    return rouge_json(rouge);
  });
  Table table({{""}, {"precision"}, {"recall"}, {"F"}});
  const auto count = static_cast<double>(results.size());
  for (const NamedOverlap& overlap : kOverlaps) {
    Overlap& mean = sum.*overlap.member;
    mean = {mean.precision / count, mean.recall / count, mean.f / count};
    table.add_row({overlap.name, decimal(mean.precision, 4), decimal(mean.recall, 4), decimal(mean.f, 4)});
  }
  if (!options.data.json) {
    OutputWriter stream;
    table.print(stream);
    return kExitOk;
  }
  Json totals = {{"texts", results.size()}};
  totals.update(rouge_json(sum));
  print_totals(options.data, std::move(totals), results, {});
  return kExitOk;
}

using RunTexts = int (*)(const TextsOptions& options);

void declare_texts(Command& command, Run& run, RunTexts run_texts, const std::shared_ptr<TextsOptions>& options) {
  add_data_options(command, options->data);
  command.on_parsed([&run, options, run_texts] { run = [options, run_texts] { return run_texts(*options); }; });
}

}  // namespace

void declare_eval_bleu(Command& command, Run& run) {
  declare_texts(command, run, run_bleu, std::make_shared<TextsOptions>());
  command.set_footer(
      "A line: {\"hypothesis\": TEXT, \"references\": [TEXT, ...]}\n"
      "The tokenizer is 13a, and the smoothing that of NIST, in the corpus and in sentences.\n"
      "\n"
      "Examples:\n"
      "  sotto eval bleu translations.jsonl\n"
      "  sotto eval bleu --json < translations.jsonl");
}

void declare_eval_rouge(Command& command, Run& run) {
  auto options = std::make_shared<TextsOptions>();
  declare_texts(command, run, run_rouge, options);
  command.add_flag("--stemmer", options->stems, "Compare the stems of words, by Porter's algorithm");
  command.set_footer(
      "A line: {\"hypothesis\": TEXT, \"references\": [TEXT, ...]}\n"
      "The figures are means over all lines, each with the reference that is best for it, as rouge-score\n"
      "computes them.\n"
      "\n"
      "Examples:\n"
      "  sotto eval rouge summaries.jsonl\n"
      "  sotto eval rouge --stemmer --json < summaries.jsonl");
}

}  // namespace sotto::cli
