// ClientWorld: an engine on a fake model, its clients, and faults.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/engine.h"
#include "runtime/live/live_rows.h"
#include "sim/arrivals.h"
#include "sim/cache_checker.h"
#include "sim/client.h"
#include "sim/draft_maker.h"
#include "sim/eviction_checker.h"
#include "sim/fake_model.h"
#include "sim/settings.h"
#include "sim/trace.h"
#include "sim/world.h"

namespace ingot::sim {

/// One seed's engine, ticked from outside. In a tick events happen to requests, then the engine
/// makes a step, then every promise is checked.
class ClientWorld {
 public:
  ClientWorld(const Settings& settings, Backend& backend, Random& random, Trace& trace,
              Tally& tally);

  /// Runs `ticks` ticks with faults, then until all requests have ended.
  void run(std::int64_t ticks);

 private:
  /// A live sequence, and its last client, if it has one whose tokens were not added.
  struct Live {
    LiveRows rows;
    Client* last = nullptr;
    Job* before = nullptr;  ///< the last job, whose blocks the next may take over
    PrefixKey prefix{};
    std::shared_ptr<const AdapterList> adapters{};
  };

  // Events of a tick.
  void tick();
  void happen();
  void arrive();
  void submit();
  std::vector<Stream> try_submit(const Request& request, std::int32_t choices);
  Live* draw_live(const Request& request);
  std::int64_t extend(Live& live, Request& request);
  void disturb(Client& c);
  void drop(Client& c);
  void begin_drain(double seconds);
  void meet(Event event);
  void read_all();
  void read(Client& c);
  void end(Client& c);

  // The end.
  void wind_down();
  void settle();

  // Checks after a tick.
  void look();
  void check_request(const RunningRequest& request);
  void check_change(Client& c, const Sequence& s);
  static State state_of(const Client& c, const Sequence& s);
  void look_for_ended();
  bool continues_resting(const Client& c) const;
  void check_order() const;
  void check_deadlines(const RunningRequest& request) const;
  void check_progress();
  bool is_over() const { return alive_.empty() && (draining_ || around_.failed); }

  const Settings& settings_;
  Random& random_;
  Trace& trace_;
  Tally& tally_;
  double now_ = 1000;
  std::int64_t tick_ = 0;
  KvCache cache_;
  FakeModel* model_ = nullptr;  ///< owned by the engine
  std::unique_ptr<Engine> engine_;
  std::optional<EvictionChecker> evictions_;  ///< checks the engine's index
  Arrivals arrivals_;
  CacheChecker checker_;
  Circumstances around_;

  std::vector<std::unique_ptr<Client>> clients_;  ///< all clients of the run
  std::vector<Client*> alive_;                    ///< clients that have not seen their end
  std::vector<Client*> by_id_;
  std::vector<Client*> admitted_;       ///< clients admitted for the first time in this tick
  std::vector<std::uint64_t> resting_;  ///< requests that rested at the end of the last tick
  Random kinds_;                        ///< a separate stream for live sequences
  std::vector<Live> lives_;             ///< live sequences
  double drain_by_ = kNever;
  double looked_ = 0;  ///< time of the engine's last tick
  bool draining_ = false;
  bool is_calm_ = false;   ///< no further faults
  bool asleep_ = false;    ///< the engine's thread sleeps
  bool advanced_ = false;  ///< the engine made a step in this tick
  std::int64_t in_engine_ = 0;
  std::int64_t failures_ = 0;  ///< failures that the engine reported
  std::int64_t transients_ = 0, late_failures_ = 0;
  std::int64_t rows_run_ = 0, idle_ticks_ = 0;
};

}  // namespace ingot::sim
