// PromptFeed: submits later prompts to the places of choices that have ended.
#include "server/common/prompt_feed.h"

#include <algorithm>
#include <utility>

#include "base/index.h"

namespace ingot {

PromptFeed::PromptFeed(Engine& engine, std::vector<GenerationPrompt> prompts, Allow allow)
    : engine_(engine), prompts_(std::move(prompts)), allow_(std::move(allow)) {}

std::vector<Stream> PromptFeed::submit(std::size_t under_way) {
  std::vector<Stream> all;
  while (next_ < prompts_.size()) {
    std::vector<Stream> streams = submit_next(under_way + all.size());
    if (streams.empty()) break;
    for (Stream& stream : streams) all.push_back(std::move(stream));
  }
  return all;
}

/// Submits one prompt. Returns no streams if there is no room for it.
std::vector<Stream> PromptFeed::submit_next(std::size_t under_way) {
  GenerationPrompt& prompt = prompts_[next_];
  const std::size_t then = under_way + to_size(prompt.choices);
  // The generation keeps its places. Otherwise a flood of other requests could take them all, and
  // then no end of its own choices would start the next prompt.
  const bool is_successor = then <= places_;
  if (!is_successor && !allow_(then)) return {};
  // The limit counts from the first prompt's submission.
  const double now = engine_.options().now();
  if (next_ == 0) begin_ = now;
  const double end_seconds = prompt.request.end_seconds;
  prompt.request.end_seconds = end_seconds - (now - begin_);
  auto streams = engine_.submit_choices(std::move(prompt.request), prompt.choices,
                                        is_successor ? QueuePlace::kSuccessor : QueuePlace::kNew);
  if (streams.empty()) {
    prompt.request.end_seconds = end_seconds;  // NOLINT(bugprone-use-after-move): not taken
    return {};
  }
  places_ = std::max(places_, then);
  ++next_;
  return streams;
}

}  // namespace ingot
