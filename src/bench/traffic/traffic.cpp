// Draws synthetic traffic (arrivals, lengths, tokens), and scales and cuts traffic.
#include "bench/traffic/traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/index.h"
#include "base/math_double.h"
#include "bench/traffic/traffic_draws.h"

namespace ingot {

namespace {

constexpr double kTwoPi = 6.283185307179586;

/// Draws from the gamma distribution of scale 1 and this shape, which is at least 1.
///
/// Source:  Marsaglia, Tsang: "A simple method for generating gamma variables", ACM TOMS 26, 2000.
double draw_gamma_of_shape_1_up(Draws& draws, double shape) {
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double radius = std::sqrt(-2 * math::log(draws.uniform()));
    const double x = radius * math::cos(kTwoPi * draws.uniform());
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (math::log(draws.uniform()) < x * x / 2 + d - d * v + d * math::log(v)) return d * v;
  }
}

/// Draws for any shape. Below 1, it is shape + 1 times a power of a uniform number (section 6).
double draw_gamma(Draws& draws, double shape) {
  if (shape >= 1) return draw_gamma_of_shape_1_up(draws, shape);
  const double power = math::pow(draws.uniform(), 1 / shape);
  return power * draw_gamma_of_shape_1_up(draws, shape + 1);
}

/// Seconds from the previous request to this one; 1 / rate on average.
double draw_gap(const SyntheticTraffic& options, std::int64_t number) {
  if (std::isinf(options.rate)) return 0;
  Draws draws(options.seed, DrawPurpose::kGap, static_cast<std::uint64_t>(number));
  if (options.burstiness == 1) return -math::log(draws.uniform()) / options.rate;
  return draw_gamma(draws, options.burstiness) / (options.burstiness * options.rate);
}

std::int64_t draw_length(const LengthRange& range, const SyntheticTraffic& options,
                         DrawPurpose purpose, std::int64_t number) {
  Draws draws(options.seed, purpose, static_cast<std::uint64_t>(number));
  const auto lengths = static_cast<std::uint64_t>(range.high - range.low + 1);
  return range.low + static_cast<std::int64_t>(draws.below(lengths));
}

std::int64_t scaled(std::int64_t length, double factor) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(length) * factor));
}

/// Appends the first `count` tokens of a series to a prompt.
void append_tokens(Draws draws, std::int64_t count, const std::vector<std::int32_t>& ids,
                   std::vector<std::int32_t>& prompt) {
  for (std::int64_t i = 0; i < count; ++i) prompt.push_back(ids[draws.below(ids.size())]);
}

}  // namespace

Traffic synthetic_traffic(const SyntheticTraffic& options) {
  Traffic traffic{.requests = {}, .shared_prefix = options.shared_prefix};
  double now = 0;
  for (std::int64_t i = 0; i < options.requests; ++i) {
    if (i > 0) now += draw_gap(options, i);
    traffic.requests.push_back(
        {.arrival = now,
         .prompt_tokens = options.shared_prefix +
                          draw_length(options.input, options, DrawPurpose::kInputLength, i),
         .output_tokens = draw_length(options.output, options, DrawPurpose::kOutputLength, i)});
  }
  return traffic;
}

void scale_lengths(Traffic& traffic, double factor) {
  if (traffic.shared_prefix > 0) traffic.shared_prefix = scaled(traffic.shared_prefix, factor);
  traffic.block_tokens = scaled(traffic.block_tokens, factor);
  for (PlannedRequest& r : traffic.requests) {
    r.prompt_tokens = scaled(r.prompt_tokens, factor);
    r.output_tokens = scaled(r.output_tokens, factor);
  }
}

CutLengths cut_to_context(Traffic& traffic, std::int64_t context) {
  INGOT_CHECK(context >= 2, "a context of ", context, " tokens has no room for a request");
  CutLengths cut;
  for (PlannedRequest& r : traffic.requests) {
    if (r.prompt_tokens + r.output_tokens <= context) continue;
    if (r.output_tokens > context / 2) {
      r.output_tokens = std::max(context / 2, context - r.prompt_tokens);
      ++cut.outputs;
    }
    if (r.prompt_tokens > context - r.output_tokens) {
      r.prompt_tokens = context - r.output_tokens;
      ++cut.prompts;
    }
  }
  return cut;
}

std::int64_t longest_request(const Traffic& traffic) {
  std::int64_t longest = 0;
  for (const PlannedRequest& r : traffic.requests) {
    longest = std::max(longest, r.prompt_tokens + r.output_tokens);
  }
  return longest;
}

std::vector<std::int32_t> text_ids(const Tokenizer* tokenizer, std::int64_t ids,
                                   const std::vector<std::int32_t>& ends) {
  const auto is_text = [&](std::int32_t id) {
    if (std::find(ends.begin(), ends.end(), id) != ends.end()) return false;
    return tokenizer == nullptr || tokenizer->type(id) == TokenType::kNormal;
  };
  std::vector<std::int32_t> found;
  for (std::int32_t id = 0; id < ids; ++id) {
    if (is_text(id)) found.push_back(id);
  }
  if (found.empty()) {
    found.resize(to_size(ids));
    std::iota(found.begin(), found.end(), 0);
  }
  return found;
}

RequestWriter::RequestWriter(const Traffic& traffic, RequestRecipe recipe)
    : traffic_(traffic), recipe_(std::move(recipe)) {
  INGOT_CHECK(!recipe_.ids.empty(), "prompts of no ids");
}

Request RequestWriter::write(std::size_t number) const {
  Request request{.prompt = prompt(number),
                  .max_tokens = traffic_.requests[number].output_tokens,
                  .ignore_eos = true};
  Draws draws(recipe_.seed, DrawPurpose::kSeed, number);
  request.sampling.temperature = recipe_.temperature;
  request.sampling.seed = draws.next();
  return request;
}

std::vector<std::int32_t> RequestWriter::prompt(std::size_t number) const {
  const PlannedRequest& planned = traffic_.requests[number];
  const std::int64_t length = planned.prompt_tokens;
  std::vector<std::int32_t> ids;
  ids.reserve(to_size(length));
  const auto append = [&](DrawPurpose purpose, std::uint64_t index, std::int64_t count) {
    append_tokens(Draws(recipe_.seed, purpose, index), count, recipe_.ids, ids);
  };
  append(DrawPurpose::kSharedPrefix, 0, std::min(length, traffic_.shared_prefix));
  for (const std::uint32_t block : planned.blocks) {
    append(DrawPurpose::kBlock, block, std::min(length - std::ssize(ids), traffic_.block_tokens));
  }
  append(DrawPurpose::kPrompt, number, length - std::ssize(ids));
  return ids;
}

std::vector<std::size_t> draw_sample(std::size_t total, std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> numbers(total);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  count = std::min(count, total);
  Draws draws(seed, DrawPurpose::kSample, 0);
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(numbers[i], numbers[i + draws.below(total - i)]);
  }
  numbers.resize(count);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace ingot
