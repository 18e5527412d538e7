// WaitingQueue: the order in which waiting sequences are admitted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/function_ref.h"
#include "runtime/schedule/sequence.h"

namespace ingot {

/// Which waiting sequence of a tenant comes first.
enum class Policy {
  kArrival,   ///< first come, first served
  kPriority,  ///< smaller priorities first, but waiting `ageing` seconds makes up for one step
};

/// How sequences are ranked, and how tenants share the machine.
struct WaitingOptions {
  Policy policy = Policy::kArrival;
  double ageing = 10;  ///< seconds of waiting that one step of priority is worth
  std::map<std::uint64_t, double> weights{};  ///< shares by tenant; 1 for all others
};

/// Preempted sequences come first. The others follow by tenant, the tenant with the least virtual
/// time first, and within a tenant by rank.
///
/// A tenant's virtual time is its computed rows divided by its weight. A tenant that had no waiting
/// sequence returns at the least virtual time of the waiting tenants, so idling saves nothing up;
/// or at its own if that is higher, so leaving pays no debt. When no tenant waits, all virtual
/// times become 0, because no tenant is deprived.
///
/// Source: "Fairness in Serving Large Language Models", arXiv:2401.00588.
class WaitingQueue {
 public:
  explicit WaitingQueue(WaitingOptions options) : options_(std::move(options)) {}

  /// Arrival, plus seconds for its priority. All sequences age at one rate, so ranks never change.
  /// Smaller ranks come first, then smaller ids.
  double rank(const Sequence& s) const;
  /// Whether `a` comes before `b`.
  bool before(const Sequence& a, const Sequence& b) const;

  /// Adds a new sequence. It counts as its tenant's until `leave`.
  void add(Sequence& s);
  /// Adds a preempted sequence.
  void add_returned(Sequence& s);
  /// Takes the sequence out of the line, if it is in it. It still counts as its tenant's.
  void erase(Sequence& s);
  /// The sequence has ended, waiting or not.
  void leave(const Sequence& s);
  /// `rows` rows of the sequence were computed.
  void serve(const Sequence& s, std::int64_t rows);

  std::int64_t size() const { return size_; }
  /// Calls `visit` with the waiting sequences, in order, until it returns false. It must not change
  /// the queue.
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
  /// Tenants with sequences, and tenants whose virtual time is ahead of all waiting ones.
  std::map<std::uint64_t, Tenant> tenants_;
  std::int64_t size_ = 0;
};

}  // namespace ingot
