#include "platforms/cli/generate/beams_view.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

constexpr auto kPause = std::chrono::milliseconds(50);
constexpr size_t kMaxLines = 10;  // because lines that have scrolled away cannot be erased

bool can_move_cursor() {
  const char* term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

// Returns the end of a printable text that fits `width` columns.
std::string_view fitting_end(std::string_view text, size_t width) {
  std::vector<std::pair<size_t, size_t>> characters;  // offset and columns
  for (size_t offset = 0; offset < text.size();) {
    const size_t size = first_character(text.substr(offset)).size;
    characters.emplace_back(offset, columns_of(text.substr(offset, size)));
    offset += size;
  }
  size_t begin = text.size();
  for (; !characters.empty() && characters.back().second <= width; characters.pop_back()) {
    width -= characters.back().second;
    begin = characters.back().first;
  }
  return text.substr(begin);
}

}  // namespace

BeamsView::BeamsView(const LoadedModel& model, const SearchParams& params, const Progress& progress, bool is_wanted)
    : model_(model),
      max_tokens_(params.max_tokens),
      is_on_(is_wanted && progress.is_on() && OutputWriter().width() > 0 && can_move_cursor()) {}

BeamsView::~BeamsView() { erase(); }

void BeamsView::add(uint32_t sequence, Token token, uint32_t parent) {
  if (!growing_.empty() && sequence <= newest_) end_step();
  newest_ = sequence;
  if (growing_.size() <= sequence) growing_.resize(sequence + size_t{1});
  const std::string piece = model_.info().has_tokenizer != 0 ? model_.text_of({token}) : std::to_string(token) + ' ';
  growing_[sequence] = (parent < texts_.size() ? texts_[parent] : "") + piece;
}

void BeamsView::end_step() {
  texts_ = std::exchange(growing_, {});
  ++step_;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kPause;
  show();
}

void BeamsView::show() {
  const size_t columns = OutputWriter().width();
  std::string frame = "step " + std::to_string(step_) + " of " + std::to_string(max_tokens_);
  frame = frame.substr(0, columns - 1) + '\n';
  size_t lines = 1;
  for (size_t i = 0; i < texts_.size() && lines < kMaxLines; ++i) {
    if (texts_[i].empty()) continue;  // it has ended
    std::string label = std::to_string(i + 1) + ' ';
    label.insert(0, label.size() < 3 ? 3 - label.size() : 0, ' ');
    const size_t width = columns > label.size() + 1 ? columns - label.size() - 1 : 0;
    frame += label + std::string(fitting_end(printable(texts_[i]), width)) + '\n';
    ++lines;
  }
  erase();
  std::fputs(frame.c_str(), stderr);
  shown_lines_ = lines;
}

void BeamsView::erase() {
  if (shown_lines_ > 0) std::fprintf(stderr, "\x1b[%zuA\r\x1b[J", shown_lines_);
  shown_lines_ = 0;
}

}  // namespace sotto::cli
