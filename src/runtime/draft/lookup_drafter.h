// LookupDrafter: drafts what followed earlier occurrences of a sequence's last tokens.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/draft/domain_histories.h"
#include "runtime/draft/drafter.h"
#include "runtime/draft/match_rates.h"
#include "runtime/draft/token_history.h"
#include "runtime/step_runner.h"

namespace ingot {

/// Finds the longest earlier occurrence of a sequence's last tokens in its own tokens, in what
/// requests of its prefix-cache domain wrote, and in its prediction, and drafts what followed
/// there. A constraint that forces the next tokens comes first.
///
/// It knows what it would have drafted also where no draft was verified: so it learns how often
/// matches of each length are right without a cost.
///
/// It remembers as many requests as can run at once, and of each the latest kOwnTokensMax tokens.
/// More than that are preempted ones: the one that was used last longest ago is forgotten, and
/// learnt again when it runs.
class LookupDrafter final : public Drafter {
 public:
  static constexpr std::int64_t kOwnTokensMax = 65536;

  /// `sequences`: limit on the sequences that run at once. `runner`, whose threads find forced
  /// tokens, must outlive this object.
  LookupDrafter(std::int32_t sequences, StepRunner& runner)
      : sequences_(sequences), runner_(runner) {
    constrained_.reserve(to_size(sequences));
  }

  /// Returns the most bytes that histories take if sequences have up to `context` tokens, without
  /// those of predictions.
  static std::int64_t bytes_max(std::int32_t sequences, std::int64_t context);

  void propose(std::span<DraftTask* const> tasks) override;
  void end(RunningRequest& request) override;
  /// Forgets what ended requests wrote.
  void flush() { domains_.clear(); }

 private:
  /// Where a match lies.
  enum class Source { kPrediction, kOwn, kDomain };
  static constexpr std::size_t kSources = 3;
  using Rates = std::array<MatchRates, kSources>;
  /// What probably follows a sequence's tokens.
  struct Guess {
    Source source = Source::kOwn;
    std::int64_t matched = 0;  ///< number of tokens of the match; 0: no guess
    std::int64_t at = 0;       ///< number of tokens before the guessed ones
    std::array<std::int32_t, to_size(kDraftsMax)> ids{};
    std::int32_t count = 0;
  };
  /// The histories and rates of one request.
  struct Track {
    explicit Track(const RunningRequest& request);
    TokenHistory own;
    std::optional<TokenHistory> prediction;
    std::int64_t known = 0;  ///< number of tokens in `own`
    Rates rates;
    Guess guess;             ///< the last guess
    std::uint64_t used = 0;  ///< number of the last call
  };

  Track& track_of(const RunningRequest& request);
  void forget_oldest();
  void follow(Track& track, const Sequence& sequence);
  void learn(Track& track, const Sequence& sequence);
  void guess(Track& track, const RunningRequest& request);
  void look_in(const TokenHistory& history, Source source, const Sequence& sequence,
               Guess& best) const;
  void add_forced(std::span<DraftTask* const> tasks);
  void add_guess(DraftTask& task, const Track& track) const;

  std::int32_t sequences_;
  StepRunner& runner_;
  std::vector<DraftTask*> constrained_;  ///< the tasks that may have forced tokens
  std::uint64_t calls_ = 0;
  std::map<std::uint64_t, std::unique_ptr<Track>> tracks_;  ///< by id of the request
  DomainHistories domains_;
  Rates rates_;  ///< rates of all requests together
};

}  // namespace ingot
