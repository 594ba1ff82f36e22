// Tests statistics, the order of measurements, and the report.
#include "tests/bench/figures/statistics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/bench/figures/plan.h"
#include "tests/bench/figures/report.h"

namespace sotto::bench {
namespace {

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({1, 1, 1, 100}), 1);
}

TEST(Statistics, SummaryKeepsTheExtremes) {
  const Summary summary = summarize({7, -2, 5, 100});
  EXPECT_EQ(summary.median, 6);
  EXPECT_EQ(summary.min, -2);
  EXPECT_EQ(summary.max, 100);
}

TEST(Statistics, FractionOfTheLimitIsTakenPerRound) {
  // The machine was twice as slow in the second round, and the fractions are the same.
  EXPECT_EQ(share_of_limit({90, 45, 80}, {100, 50, 100}, true), 0.9);
  // A ratio of medians would be 80 / 100.
  EXPECT_EQ(share_of_limit({20, 80, 90}, {20, 100, 100}, true), 0.9);
}

TEST(Statistics, FractionOfTheLimitIsInvertedForCosts) {
  EXPECT_EQ(share_of_limit({200, 400}, {100, 100}, false), (0.5 + 0.25) / 2);
}

Plan counting_plan(std::vector<std::string>* order) {
  Plan plan;
  for (const char* name : {"a", "b"}) {
    plan.probes.push_back({name, [order, name](Recorder& recorder) {
                             order->push_back(name);
                             recorder.record(name, static_cast<double>(order->size()));
                           }});
  }
  return plan;
}

TEST(Plan, RoundsAreInterleavedAndTheFirstIsNotCounted) {
  std::vector<std::string> order, shown;
  const Samples samples = run(counting_plan(&order), 2, [&](size_t round, size_t rounds, auto& probe) {
    shown.push_back(std::to_string(round) + '/' + std::to_string(rounds) + probe);
  });
  EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "a", "b", "a", "b"}));
  EXPECT_EQ(shown, (std::vector<std::string>{"0/2a", "0/2b", "1/2a", "1/2b", "2/2a", "2/2b"}));
  EXPECT_EQ(samples.at("a"), (std::vector<double>{3, 5}));
  EXPECT_EQ(samples.at("b"), (std::vector<double>{4, 6}));
}

TEST(Plan, LimitsComeFromTheSameRound) {
  Plan plan;
  FigureSpec figure{"a", "speed"};
  figure.limit_name = "b";
  figure.limit_series = "b";
  figure.limit = [](double b) { return 2 * b; };
  plan.figures.push_back(figure);
  const auto figures = make_figures(plan, {{"a", {1, 2}}, {"b", {10, 20}}});
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].samples, (std::vector<double>{1, 2}));
  EXPECT_EQ(figures[0].limits, (std::vector<double>{20, 40}));
}

TEST(Plan, AConstantLimitHoldsForEverySample) {
  Plan plan;
  FigureSpec figure{"a", "memory"};
  figure.limit = [](double) { return 5.0; };
  plan.figures.push_back(figure);
  EXPECT_EQ(make_figures(plan, {{"a", {1, 2, 3}}})[0].limits, (std::vector<double>{5, 5, 5}));
}

Report example_report() {
  Report report;
  report.machine = {{"cpu", "Example"},   {"cores", 2},      {"architecture", "x86_64"},
                    {"system", "Linux"},  {"pages", "huge"}, {"transparent_huge_pages", "madvise"},
                    {"load_average", 0.5}};
  report.model = {{"name", "m"}};
  report.settings = {{"isa", "avx2"}, {"threads", 1}, {"runs", 2}, {"version", "1.0.0"}};
  report.limits["memory_read/1t"] = {2e10, 4e10};
  Figure decode;
  decode.name = "decode";
  decode.parameters = {{"context", 512}, {"threads", 1}};
  decode.unit = "tok/s";
  decode.samples = {100, 50};
  decode.limit_name = "memory_read";
  decode.limits = {200, 100};
  report.figures = {decode};
  return report;
}

TEST(Report, TableShowsFigureLimitAndShare) {
  const std::string table = report_table(example_report());
  EXPECT_NE(table.find("decode, context 512, threads 1   75.00  50.00 .. 100.0  tok/s  150.0 "
                       "(memory_read)     50.0%\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("limit memory_read/1t             30.00  20.00 .. 40.00  GB/s\n"), std::string::npos) << table;
}

TEST(Report, PeersAreComparedInTimes) {
  Report report = example_report();
  report.figures[0].limit_is_peer = true;
  report.figures[0].limits = {40, 20};
  EXPECT_NE(report_table(report).find("(memory_read)     2.50x\n"), std::string::npos) << report_table(report);
  const auto figure = report_json(report).at("figures").at(0);
  EXPECT_EQ(figure.at("peer").at("median"), 30);
  EXPECT_EQ(figure.at("ratio"), 2.5);
  EXPECT_FALSE(figure.contains("limit"));
}

TEST(Report, JsonKeepsEverySample) {
  const auto json = report_json(example_report());
  const auto& decode = json.at("figures").at(0);
  EXPECT_EQ(decode.at("median"), 75);
  EXPECT_EQ(decode.at("samples"), (std::vector<double>{100, 50}));
  EXPECT_EQ(decode.at("limit").at("median"), 150);
  EXPECT_EQ(decode.at("limit").at("samples"), (std::vector<double>{200, 100}));
  EXPECT_EQ(decode.at("ratio"), 0.5);
  EXPECT_EQ(json.at("limits").at(0).at("median"), 3e10);
}

}  // namespace
}  // namespace sotto::bench
