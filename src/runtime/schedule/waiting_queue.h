// WaitingQueue: in which order sequences that wait get their turn.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/function_ref.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// Who is served first.
enum class Policy {
  kArrival,   ///< first come, first served
  kPriority,  ///< smaller priorities first, but a wait of `ageing` seconds makes up for a step
};

/// How sequences are ranked, and how tenants share.
struct WaitingOptions {
  Policy policy = Policy::kArrival;
  double ageing = 10;                         ///< seconds that a step of priority is worth
  std::map<std::uint64_t, double> weights{};  ///< of tenants' shares; 1 for those that are not here
};

/// Sequences that wait. Those that ran and had to give way come first; the others by tenant, the
/// one first that got least for its weight, and within a tenant by rank.
///
/// Fair sharing counts rows computed, divided by the tenant's weight, as virtual time: a tenant
/// that had nothing waiting comes back at the least of those that have, so that idling saves
/// nothing up, or at what it was served where that is more, so that leaving pays no debt. Where
/// nobody waits nobody is deprived, and all debts end.
///
/// Source: "Fairness in Serving Large Language Models", arXiv:2401.00588.
class WaitingQueue {
 public:
  explicit WaitingQueue(WaitingOptions options) : options_(std::move(options)) {}

  /// Arrival, plus what its priority costs or saves: ageing is the same for all, so that ranks
  /// never change. Smaller ones first, then smaller request numbers.
  double rank(const Sequence& s) const;
  /// Whether `a` comes before `b`.
  bool before(const Sequence& a, const Sequence& b) const;

  /// A new sequence, whose tenant it makes active until `leave`.
  void add(Sequence& s);
  /// One that ran and had to give way.
  void add_returned(Sequence& s);
  /// Takes it out of the line, if it is in it. It stays its tenant's.
  void erase(Sequence& s);
  /// The sequence has ended, wherever it was.
  void leave(const Sequence& s);
  /// Rows that were computed for it.
  void serve(const Sequence& s, std::int64_t rows);

  std::int64_t size() const { return size_; }
  /// Calls `visit` with those that wait, in order, until it returns false. It must not change the
  /// queue.
  void visit(FunctionRef<bool(Sequence&)> visit) const;
  /// Tenants that have sequences.
  std::int64_t tenants() const;

 private:
  struct Entry {
    double rank = 0;
    std::uint64_t id = 0;
    Sequence* sequence = nullptr;
    bool operator<(const Entry& other) const {
      return rank != other.rank ? rank < other.rank : id < other.id;
    }
  };
  struct Tenant {
    double weight = 1;
    double served = 0;           ///< virtual time
    std::int64_t sequences = 0;  ///< waiting or running
    std::set<Entry> line;
    bool waits() const { return !line.empty(); }
  };
  Entry entry(Sequence& s) const { return {rank(s), s.id, &s}; }
  std::optional<double> min_served() const;
  void end_debts();

  WaitingOptions options_;
  std::set<Entry> returned_;
  /// Those that have sequences, and some that are ahead of those that wait.
  std::map<std::uint64_t, Tenant> tenants_;
  std::int64_t size_ = 0;
};

}  // namespace ingot
