// WaitingQueue: the order in which waiting sequences are admitted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/function_ref.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// The order of a tenant's waiting sequences.
enum class Policy {
  kArrival,   ///< first come, first served
  kPriority,  ///< smaller priorities first; `ageing` seconds of waiting offset one unit of priority
};

/// How to rank sequences, and how to share the computed rows between tenants.
struct WaitingOptions {
  Policy policy = Policy::kArrival;
  double ageing = 10;  ///< seconds of waiting that equal one unit of priority
  std::map<std::uint64_t, double> weights{};  ///< weight of each tenant; 1 for a missing tenant
};

/// Orders waiting sequences. Preempted sequences come first. The other sequences are ordered by the
/// virtual times of their tenants, ascending. Sequences of one tenant are ordered by rank.
///
/// A tenant's virtual time is its number of computed rows divided by its weight. When a tenant
/// without waiting sequences adds a sequence, its virtual time is raised to the least virtual time
/// of the waiting tenants, so that idle time earns no credit. A larger virtual time is not lowered,
/// so that a tenant gains nothing by leaving. If no tenant waits, all virtual times are reset to 0.
///
/// Source: "Fairness in Serving Large Language Models", arXiv:2401.00588.
class WaitingQueue {
 public:
  explicit WaitingQueue(WaitingOptions options) : options_(std::move(options)) {}

  /// Returns a sequence's rank: its arrival plus `ageing` seconds for each unit of priority.
  /// Smaller ranks come first. All sequences age at the same rate, so a rank never changes.
  double rank(const Sequence& s) const;
  /// Returns whether `a` comes before `b`: by rank, then by id.
  bool before(const Sequence& a, const Sequence& b) const;

  /// Adds a new sequence. It counts as a sequence of its tenant until `leave`.
  void add(Sequence& s);
  /// Adds a preempted sequence.
  void add_returned(Sequence& s);
  /// If the sequence waits, removes it from the queue. The sequence still counts for its tenant.
  void erase(Sequence& s);
  /// Records that a sequence has ended. It no longer counts as a sequence of its tenant.
  void leave(const Sequence& s);
  /// Adds `rows` computed rows of the sequence to its tenant's virtual time.
  void serve(const Sequence& s, std::int64_t rows);

  std::int64_t size() const { return size_; }
  /// Calls `visit` with each waiting sequence, in order, until `visit` returns false. `visit` must
  /// not change the queue.
  void visit(FunctionRef<bool(Sequence&)> visit) const;
  /// Returns the number of tenants with waiting or running sequences.
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
    double served = 0;           ///< virtual time: number of computed rows / weight
    std::int64_t sequences = 0;  ///< number of waiting and running sequences
    std::set<Entry> line;
    bool waits() const { return !line.empty(); }
  };
  Entry entry(Sequence& s) const { return {rank(s), s.id, &s}; }
  std::optional<double> min_served() const;
  void end_debts();

  WaitingOptions options_;
  std::set<Entry> returned_;
  /// Tenants with sequences, and others that have a higher virtual time than a waiting tenant.
  std::map<std::uint64_t, Tenant> tenants_;
  std::int64_t size_ = 0;
};

}  // namespace ingot
