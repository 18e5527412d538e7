// Errands: queues functions as packaged tasks, and waits for their futures.
#include "runtime/errands.h"

#include <utility>

#include "base/error.h"

namespace ingot {

namespace {

/// The most queued functions; further calls are refused. Only administration and sessions add them.
constexpr std::size_t kErrandsMax = 64;

}  // namespace

Errands::Errands(Doorbell& bell) : bell_(bell), queue_(kErrandsMax) {}

void Errands::call(const std::function<void()>& body) {
  std::packaged_task<void()> errand(body);
  std::future<void> done = errand.get_future();
  if (!queue_.try_push(std::move(errand))) {
    throw Error(ErrorCode::kUnavailable, "the engine has stopped, or too many calls wait for it");
  }
  bell_.ring();
  try {
    done.get();
  } catch (const std::future_error&) {
    throw Error(ErrorCode::kUnavailable, "the engine cannot continue");
  }
}

void Errands::run() {
  for (std::size_t left = queue_.size(); left > 0; --left) {
    if (auto errand = queue_.try_pop()) (*errand)();  // another thread may have dropped it
  }
}

void Errands::drop() {
  queue_.close();
  while (queue_.try_pop()) continue;
}

}  // namespace ingot
