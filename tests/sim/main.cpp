// ingot-sim: simulates the engine under many seeds and reports the first broken promise.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"
#include "kv/mutant.h"
#include "sim/violation.h"
#include "sim/world.h"

namespace ingot::sim {
namespace {

constexpr int kUsage = 64;
constexpr int kMutantsMax = 37;
/// One seed in 64 is simulated twice, and must have equal hashes.
constexpr std::uint64_t kTwiceEvery = 64;

constexpr std::string_view kHelp =
    "usage: ingot-sim --seeds A..B [--ticks N] [--mutant M1] [--threads N] [--json]\n"
    "       ingot-sim --seed S [--ticks N] [--mutant M1] [--trace] [--json]\n"
    "\n"
    "Simulates the scheduler, the KV cache and the engine on a fake model, with requests and\n"
    "faults that the seed decides, and checks its promises after every tick. Exit code 1: one\n"
    "was broken.\n"
    "\n"
    "  --seeds A..B   the seeds from A to B, both included (default 0..999)\n"
    "  --seed S       one seed\n"
    "  --ticks N      ticks with faults under each seed (default 500)\n"
    "  --mutant Mn    with this bug built in: it has to be found\n"
    "  --threads N    seeds at once (default: one for each processor)\n"
    "  --trace        prints what happens\n"
    "  --json         prints the result as one JSON object\n";

struct Options {
  std::uint64_t first = 0, last = 999;
  std::int64_t ticks = 500;
  int mutant = 0;
  int threads = std::max(1, available_cpus());
  bool json = false, trace = false;
};

/// State of the whole run. Any thread may print a violation.
struct Run {
  Options options;
  std::atomic<std::uint64_t> next{0};
};
Run run;

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return out + '"';
}

std::string range() { return cat(run.options.first, "..", run.options.last); }

void print_violation(const Violation& v) {
  if (run.options.json) {
    std::printf(
        "{\"seeds\": \"%s\", \"ticks\": %lld, \"violations\": 1, \"first_seed\": %llu, "
        "\"invariant\": %s, \"coverage\": null, \"message\": %s}\n",
        range().c_str(), static_cast<long long>(run.options.ticks),
        static_cast<unsigned long long>(v.seed), in_quotes(v.invariant).c_str(),
        in_quotes(v.message).c_str());
    return;
  }
  std::printf("seed %llu broke %s: %s\n", static_cast<unsigned long long>(v.seed),
              v.invariant.c_str(), v.message.c_str());
}

void print_result(const Tally& tally, double seconds) {
  const Totals& t = tally.totals;
  if (run.options.json) {
    std::printf(
        "{\"seeds\": \"%s\", \"ticks\": %lld, \"violations\": 0, \"first_seed\": null, "
        "\"invariant\": null, \"coverage\": %.4f, \"ticks_run\": %lld, \"requests\": %lld, "
        "\"preemptions\": %lld, \"seconds\": %.1f}\n",
        range().c_str(), static_cast<long long>(run.options.ticks), tally.coverage.fraction(),
        static_cast<long long>(t.ticks), static_cast<long long>(t.requests),
        static_cast<long long>(t.preemptions), seconds);
    return;
  }
  std::printf("%s\n", tally.coverage.table().c_str());
  std::printf(
      "%lld ticks, %lld requests, %lld tokens, %lld rows (%lld more were there), %lld copied "
      "blocks, %lld preemptions, %lld drafts (%lld accepted)\n",
      static_cast<long long>(t.ticks), static_cast<long long>(t.requests),
      static_cast<long long>(t.tokens), static_cast<long long>(t.rows),
      static_cast<long long>(t.hits), static_cast<long long>(t.copies),
      static_cast<long long>(t.preemptions), static_cast<long long>(t.drafts),
      static_cast<long long>(t.accepted));
  std::printf("seeds %s: no promise broken, coverage %.4f, %.1f s, %.0f ticks a second\n",
              range().c_str(), tally.coverage.fraction(), seconds,
              static_cast<double>(t.ticks) / seconds);
}

/// Parses the whole of `text` as a number; false if it is no number.
template <class T>
bool parse(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_seeds(std::string_view text, Options& o) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return false;
  return parse(text.substr(0, dots), o.first) && parse(text.substr(dots + 2), o.last) &&
         o.first <= o.last && o.last < ~std::uint64_t{0};
}

bool parse_value(std::string_view name, std::string_view value, Options& o) {
  if (name == "--seeds") return parse_seeds(value, o);
  if (name == "--seed") {
    const bool is_number = parse(value, o.first);
    o.last = o.first;
    return is_number;
  }
  if (name == "--ticks") return parse(value, o.ticks) && o.ticks > 0;
  if (name == "--threads") return parse(value, o.threads) && o.threads > 0;
  if (name == "--mutant") {
    return value.substr(0, 1) == "M" && parse(value.substr(1), o.mutant) && o.mutant > 0 &&
           o.mutant <= kMutantsMax;
  }
  return false;
}

bool parse_options(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--json") {
      o.json = true;
    } else if (name == "--trace") {
      o.trace = true;
    } else if (i + 1 == argc || !parse_value(name, argv[++i], o)) {
      return false;
    }
  }
  return !o.trace || o.first == o.last;
}

void simulate_seeds(Tally& tally) {
  const Options& o = run.options;
  for (;;) {
    const std::uint64_t seed = o.first + run.next.fetch_add(1);
    if (seed > o.last || !begin_seed(seed)) break;
    const std::uint64_t hash = simulate(seed, o.ticks, o.trace, tally);
    if (seed % kTwiceEvery != 0) continue;
    Tally again;
    if (simulate(seed, o.ticks, false, again) != hash) {
      violate("I15", "the same seed does something else");
    }
  }
  end_seeds();
}

int simulate_all() {
  const auto begun = std::chrono::steady_clock::now();
  const Options& o = run.options;
  const auto wanted =
      std::min<std::uint64_t>(static_cast<std::uint64_t>(o.threads), o.last - o.first + 1);
  std::vector<Tally> tallies(static_cast<std::size_t>(wanted));
  catch_violations(static_cast<int>(wanted), print_violation);
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < tallies.size(); ++i) {
    threads.emplace_back([&tallies, i] { simulate_seeds(tallies[i]); });
  }
  simulate_seeds(tallies[0]);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 1; i < tallies.size(); ++i) {
    tallies[0].coverage.add(tallies[i].coverage);
    tallies[0].totals.add(tallies[i].totals);
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
  print_result(tallies[0], spent.count());
  return 0;
}

}  // namespace
}  // namespace ingot::sim

int main(int argc, char** argv) {
  using ingot::sim::run;
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::fwrite(ingot::sim::kHelp.data(), 1, ingot::sim::kHelp.size(), stdout);
    return 0;
  }
  if (!ingot::sim::parse_options(argc, argv, run.options)) {
    std::fwrite(ingot::sim::kHelp.data(), 1, ingot::sim::kHelp.size(), stderr);
    return ingot::sim::kUsage;
  }
  ingot::active_mutant = run.options.mutant;
  return ingot::sim::simulate_all();
}
