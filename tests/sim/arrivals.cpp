// Arrivals: draws requests at random.
#include "sim/arrivals.h"

#include <algorithm>

namespace ingot::sim {

Arrivals::Arrivals(const Settings& settings, Random& random)
    : settings_(settings),
      random_(random),
      sampling_(Random(random).next() ^ 4),
      rules_(Random(random).next() ^ 5),
      kinds_(Random(random).next() ^ 7),
      drafts_(Random(random).next() ^ 10) {
  for (std::size_t i = 0; i < 3; ++i) {
    auto& stem = stems_.emplace_back();
    for (std::int64_t left = pool_tokens(); left > 0; --left) {
      stem.push_back(random_.below(settings_.letters + 1));
    }
    // The others begin like the first.
    const auto same = static_cast<std::size_t>(random_.below(pool_tokens()));
    std::copy_n(stems_.front().begin(), same, stem.begin());
  }
}

void Arrivals::draw_prompt(Request& r, const std::vector<std::unique_ptr<Client>>& before) {
  const std::int64_t most = pool_tokens() - 1;
  const int size = random_.below(3);
  std::int64_t fresh = random_.between(1, size == 0 ? 8 : size == 1 ? 64 : most);
  if (random_.chance(settings_.shared)) {
    const bool goes_on = !before.empty() && random_.below(2) == 0;
    const Client* last =
        goes_on ? before[static_cast<std::size_t>(random_.below(std::ssize(before)))].get()
                : nullptr;
    const auto& source = last != nullptr && last->job.embedding_rows == 0
                             ? last->job.rows
                             : stems_[static_cast<std::size_t>(random_.below(3))];
    std::int64_t length = random_.between(1, std::ssize(source));
    if (random_.below(2) == 0) {
      length = (length + kBlockTokens - 1) / kBlockTokens * kBlockTokens + random_.between(-1, 1);
    }
    if (random_.below(4) == 0) length = std::ssize(source);
    length = std::min<std::int64_t>(length, std::ssize(source));
    r.prompt.assign(source.begin(), source.begin() + length);
    fresh = random_.below(3) == 0 ? 0 : random_.between(0, 20);
  }
  for (; fresh > 0; --fresh) r.prompt.push_back(random_.below(settings_.letters + 1));
  if (std::ssize(r.prompt) > most) r.prompt.resize(static_cast<std::size_t>(most));
}

/// Draws a length below, at or above the pool's size.
void Arrivals::draw_length(Request& r) {
  r.max_tokens = random_.chance(settings_.one_token) ? 1 : random_.between(1, settings_.tokens_max);
  const std::int64_t rows = std::ssize(r.prompt);
  if (random_.chance(settings_.exact)) {
    const int kind = random_.below(4);
    const std::int64_t wanted = pool_tokens() + (kind == 0   ? -kBlockTokens
                                                 : kind == 1 ? 0
                                                 : kind == 2 ? 1
                                                             : kBlockTokens);
    r.max_tokens = std::max<std::int64_t>(1, wanted - rows);
  } else if (random_.chance(settings_.large)) {
    const std::int32_t more = random_.below(2 * pool_tokens());
    for (std::int32_t i = 0; i < more; ++i) r.prompt.push_back(1);
  } else {
    r.max_tokens = std::min(r.max_tokens, pool_tokens() - rows);
  }
}

void Arrivals::draw_key(Request& r) {
  if (random_.chance(settings_.domains)) {
    const auto domain = static_cast<std::uint64_t>(random_.between(1, 2));
    r.domain = {domain, 5 * domain};
  }
  if (random_.chance(settings_.adapters)) {
    auto& loaded = adapters_[static_cast<std::size_t>(random_.below(3))];
    if (loaded == nullptr || random_.below(20) == 0) loaded = load_adapter();
    if (first_adapted_row(*loaded, r.prompt) >= 0) r.adapters = loaded;
    if (rules_.below(30) == 0) loaded = nullptr;
  }
  if (random_.chance(settings_.tenants)) r.tenant = static_cast<std::uint64_t>(random_.below(3));
  if (random_.chance(settings_.priorities)) r.priority = random_.between(-1, 2);
  r.reads_cache = !random_.chance(settings_.uncached);
}

/// Makes a load with a number of its own. Its memory stays, so that a use after its end shows.
std::shared_ptr<const AdapterList> Arrivals::load_adapter() {
  const auto load = std::make_shared<AdapterList>(AdapterList{.number = loads_.size() + 1});
  if (rules_.below(3) == 0) load->invocation = {rules_.between(1, kVocab - 1)};
  loads_.push_back(load);
  return {load.get(), [load](const AdapterList*) { load->number = 0; }};
}

std::int64_t Arrivals::loads_in_use() const {
  return std::count_if(loads_.begin(), loads_.end(),
                       [](const auto& load) { return load->number != 0; });
}

void Arrivals::draw_extras(Request& r) {
  const std::int64_t rows = std::ssize(r.prompt);
  if (random_.chance(settings_.min_tokens)) r.sampling.min_tokens = random_.below(12);
  if (random_.below(4) == 0) r.sampling.end_ids.push_back(random_.between(1, kVocab - 1));
  r.ignore_eos = random_.below(6) == 0;
  r.sampling.logprobs = random_.below(6) == 0 ? 0 : -1;
  if (random_.chance(settings_.hidden)) {
    r.hidden = random_.below(2) == 0 ? HiddenRows::kLast : HiddenRows::kAll;
    r.final_norm = random_.below(2) == 0;
    r.max_tokens = 0;
  } else if (r.embeddings.empty() && random_.chance(settings_.scores)) {
    r.prompt_logprobs = 0;
    r.prompt_logprobs_from = random_.below(2) == 0 ? 0 : random_.below(rows + 1);
    if (random_.below(3) == 0) r.max_tokens = 0;
  }
  if (random_.chance(settings_.deadline)) {
    r.first_token_seconds = random_.below(2) == 0 ? kNever : random_.unit();
    r.end_seconds = random_.below(2) == 0 ? kNever : random_.unit() * 4;
    if (r.end_seconds < 2) r.queue_seconds = r.end_seconds / 4;
  }
}

/// Draws stop strings of one length. The request alone would reach the first of them.
void Arrivals::draw_stops(Request& r) {
  const auto client = Client::make(r, 0, settings_.limits.context);
  const std::string& text = client->text_wanted;
  const std::int64_t length = random_.between(1, 4);
  if (std::ssize(text) < length) return;
  const std::int64_t at = random_.below(std::ssize(text) - length + 1);
  r.stop.push_back(text.substr(static_cast<std::size_t>(at), static_cast<std::size_t>(length)));
  if (random_.below(2) == 0) return;
  r.stop.emplace_back();
  while (std::ssize(r.stop.back()) < length) r.stop.back() += text_of(random_.below(kVocab));
}

/// Sets a field for which the host has to draw the tokens or to see their logits.
void Arrivals::draw_host(Request& r) {
  SamplingParams& p = r.sampling;
  switch (sampling_.below(10)) {
    case 0:
      r.digest = true;
      return;
    case 1:
      p.bad_words = {"ab"};
      return;
    case 2:
      p.repetition_penalty = 1.5f;
      return;
    case 3:
      p.presence_penalty = 1;
      return;
    case 4:
      p.frequency_penalty = 1;
      return;
    case 5:
      p.dry_multiplier = 1;
      return;
    case 6:
      p.mirostat = 2;
      return;
    case 7:
      p.top_n_sigma = 1;
      return;
    case 8:
      p.typical_p = 0.5f;
      return;
    default:
      p.xtc_probability = 0.5f;
  }
}

/// Sets a constraint or a budget of reasoning. Bad words have no meaning beside a constraint.
void Arrivals::draw_rules(Request& r) {
  if (rules_.chance(settings_.constrained) && r.sampling.bad_words.empty()) {
    const auto rules = text_rules();
    r.constraint = rules[static_cast<std::size_t>(rules_.below(std::ssize(rules)))].constraint;
    return;
  }
  if (!rules_.chance(settings_.budgets)) return;
  constexpr std::int32_t kTagsMax = 8;  // the tags are no white space
  r.reasoning = {.tokens = rules_.below(12),
                 .open = rules_.below(2) == 0,
                 .begin = {text_of(rules_.between(1, kTagsMax))},
                 .end = {text_of(rules_.between(1, kTagsMax))},
                 .close = {rules_.below(kVocab)}};
  for (int n = rules_.below(3); n > 0; --n) r.reasoning.close.push_back(rules_.below(kVocab));
}

Request Arrivals::draw(const std::vector<std::unique_ptr<Client>>& before) {
  Request r;
  std::vector<float> embeddings;
  if (random_.chance(settings_.embeddings)) {
    embeddings.resize(static_cast<std::size_t>(random_.between(1, 20)));
    for (float& x : embeddings) x = static_cast<float>(random_.below(100));
  }
  draw_prompt(r, before);
  const auto room = std::max<std::int64_t>(0, pool_tokens() - 1 - std::ssize(embeddings));
  if (std::ssize(r.prompt) > room) r.prompt.resize(static_cast<std::size_t>(room));
  if (!embeddings.empty() && drafts_.below(4) == 0) r.prompt.clear();
  const std::vector<std::int32_t> ids = std::exchange(r.prompt, {});
  append_embeddings(r, std::move(embeddings), 1);
  r.prompt.insert(r.prompt.end(), ids.begin(), ids.end());
  draw_key(r);
  draw_length(r);
  draw_extras(r);
  if (random_.chance(settings_.end_first)) {
    const auto client = Client::make(r, 0, settings_.limits.context);
    r.sampling.end_ids.push_back(client->job.draw(client->job.prompt_rows - 1,
                                                  client->job.key(client->job.prompt_rows - 1)));
    r.sampling.min_tokens = 0;
  }
  if (random_.chance(settings_.stops)) draw_stops(r);
  r.sampling.seed = sampling_.next();
  if (sampling_.chance(settings_.host)) draw_host(r);
  draw_rules(r);
  if (kinds_.chance(settings_.pooled)) draw_pooled(r);
  // A shorter prompt may have lost the invocation tokens.
  if (first_adapted_row(r) < 0) r.adapters = nullptr;
  draw_drafts(r);
  return r;
}

/// Chooses drafts, and predicts the text: right up to some place.
void Arrivals::draw_drafts(Request& r) {
  if (drafts_.chance(settings_.choosy)) {
    const int modes = settings_.limits.draft_rows == 0 ? 2 : settings_.has_drafter ? 4 : 3;
    r.speculation.mode = static_cast<SpeculationMode>(drafts_.below(modes));
    r.speculation.tokens = drafts_.between(-1, 5);
  }
  if (!drafts_.chance(settings_.predicted) || r.max_tokens == 0) return;
  const auto client = Client::make(r, 0, settings_.limits.context);
  const auto& rows = client->job.rows;
  r.prediction.assign(rows.begin() + client->job.prompt_rows, rows.end());
  for (int n = drafts_.below(4); n > 0; --n) {
    const std::int32_t at = drafts_.below(std::ssize(r.prediction) + 1);
    r.prediction.insert(r.prediction.begin() + at, drafts_.below(kVocab));
  }
  const auto most = static_cast<std::size_t>(settings_.limits.context);
  r.prediction.resize(std::min(r.prediction.size(), most));
}

/// Asks for a pooled result in place of tokens. If one step must compute it, most prompts fit one.
void Arrivals::draw_pooled(Request& r) {
  r.pooled = true;
  r.max_tokens = 0;
  r.hidden = HiddenRows::kNone;
  r.prompt_logprobs = -1;
  r.prompt_logprobs_from = 0;
  if (!settings_.pools_whole) return;
  r.embeddings.clear();
  std::erase(r.prompt, kGivenRow);
  if (r.prompt.empty()) r.prompt.push_back(1);
  const auto most = static_cast<std::size_t>(settings_.limits.rows);
  if (r.prompt.size() > most && kinds_.below(8) != 0) r.prompt.resize(most);
}

bool Arrivals::is_possible(const Request& r) const {
  const std::int64_t rows = std::ssize(r.prompt);
  const std::int64_t context = settings_.limits.context;
  if (rows == 0 || rows > context || (rows == context && r.max_tokens > 0)) return false;
  if (r.pooled && settings_.pools_whole && rows > settings_.limits.rows) return false;
  const std::int64_t most = rows + std::min(r.max_tokens, context - rows);
  const std::int64_t blocks = (most + kBlockTokens - 1) / kBlockTokens;
  return blocks <= settings_.blocks;
}

}  // namespace ingot::sim
