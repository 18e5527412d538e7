// How long those who come would wait for their turn.
#include <algorithm>
#include <utility>

#include "runtime/engine.h"

namespace ingot {

/// For those who are about to submit.
void Engine::publish_queue_state(double now) {
  const std::int64_t began = scheduler_.admissions();
  const std::int64_t queued = scheduler_.queued();
  pace_.add(began - std::exchange(admissions_seen_, began), queued, now);
  const auto running = static_cast<std::size_t>(scheduler_.running());
  queue_now_.queued.store(static_cast<std::size_t>(queued));
  queue_now_.under_way.store(running + static_cast<std::size_t>(scheduler_.waiting()));
  queue_now_.tenants.store(static_cast<std::size_t>(scheduler_.tenants()));
  queue_now_.seconds_each.store(pace_.seconds_each(now));
}

double Engine::expected_wait(std::size_t own) const {
  const std::size_t queued = queue_now_.queued.load();
  if (queued == 0) return 0;
  const std::size_t then = queue_now_.under_way.load(), all = under_way();
  const std::size_t ahead = queued + (all > then ? all - then : 0);
  const std::size_t most = own * std::max<std::size_t>(1, queue_now_.tenants.load());
  return static_cast<double>(std::min(ahead, most)) * queue_now_.seconds_each.load();
}

}  // namespace ingot
