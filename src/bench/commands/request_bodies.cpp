// Writes the JSON bodies of a serving benchmark's requests.
#include "bench/commands/request_bodies.h"

#include <array>
#include <numeric>

#include "base/index.h"
#include "base/text.h"
#include "load/json.h"

namespace ingot {

namespace {

/// Words that, with a space in front, are one token each in common tokenizers.
constexpr std::array<std::string_view, 96> kWords{
    "the",    "and",    "that",   "with",   "have",   "this",  "from",    "they", "would",
    "there",  "their",  "what",   "about",  "which",  "when",  "make",    "like", "time",
    "just",   "know",   "take",   "people", "year",   "your",  "good",    "some", "could",
    "them",   "other",  "than",   "then",   "look",   "only",  "come",    "over", "think",
    "also",   "back",   "after",  "work",   "first",  "well",  "even",    "want", "because",
    "these",  "give",   "most",   "great",  "world",  "life",  "hand",    "part", "child",
    "place",  "week",   "case",   "point",  "number", "group", "problem", "fact", "water",
    "money",  "story",  "month",  "right",  "study",  "book",  "word",    "side", "kind",
    "head",   "house",  "friend", "father", "power",  "hour",  "game",    "line", "end",
    "member", "law",    "car",    "city",   "name",   "team",  "minute",  "idea", "body",
    "face",   "others", "level",  "office", "door",   "health"};

std::vector<std::int32_t> word_numbers() {
  std::vector<std::int32_t> numbers(kWords.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::string words(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (const std::int32_t number : numbers) {
    text += cat(text.empty() ? "" : " ", at(kWords, number));
  }
  return text;
}

std::string id_list(const std::vector<std::int32_t>& ids) {
  std::string text = "[";
  for (const std::int32_t id : ids) {
    if (text.size() > 1) text += ',';
    detail::append(text, id);
  }
  return text + "]";
}

}  // namespace

RequestBodies::RequestBodies(const Traffic& traffic, const std::vector<Conversation>& conversations,
                             BodyOptions options)
    : conversations_(conversations),
      options_(std::move(options)),
      writer_(traffic, {.ids = options_.is_chat ? word_numbers() : options_.prompt_ids,
                        .seed = options_.seed,
                        .temperature = static_cast<float>(options_.temperature)}) {}

std::string RequestBodies::path() const {
  return options_.is_chat ? "/v1/chat/completions" : "/v1/completions";
}

/// The prompt as JSON.
std::string RequestBodies::prompt(std::size_t number, const Request& request) const {
  if (!conversations_.empty()) {
    const std::size_t chosen = conversation_of(number, conversations_.size(), options_.seed);
    return Json(conversations_[chosen].prompt).dump();
  }
  return options_.is_chat ? Json(words(request.prompt)).dump() : id_list(request.prompt);
}

std::string RequestBodies::write(std::size_t number) const {
  const Request request = writer_.write(number);
  const std::string text = prompt(number, request);
  std::string body = cat("{\"model\":", Json(options_.model).dump());
  body += options_.is_chat ? cat(",\"messages\":[{\"role\":\"user\",\"content\":", text, "}]")
                           : cat(",\"prompt\":", text);
  body += cat(",\"max_tokens\":", request.max_tokens, ",\"temperature\":", options_.temperature,
              ",\"seed\":", request.sampling.seed);
  if (options_.ignore_eos) body += ",\"ignore_eos\":true";
  return body + ",\"stream\":true,\"stream_options\":{\"include_usage\":true}}";
}

std::size_t conversation_of(std::size_t number, std::size_t conversations, std::uint64_t seed) {
  // A stride that is coprime to the number of conversations visits all before it repeats one.
  std::size_t stride = 1 + static_cast<std::size_t>(seed * 2654435761U % conversations);
  while (std::gcd(stride, conversations) != 1) ++stride;
  return (static_cast<std::size_t>(seed % conversations) + number % conversations * stride) %
         conversations;
}

}  // namespace ingot
