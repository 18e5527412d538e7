// Requests as JSON: a function of seed and number, of the lengths that are asked for.
#include "bench/commands/request_bodies.h"

#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "load/json.h"

namespace ingot {
namespace {

const std::vector<Conversation> kNone;

Traffic some_traffic() {
  return synthetic_traffic({.requests = 4,
                            .input = {.low = 5, .high = 9},
                            .output = {.low = 3, .high = 4},
                            .shared_prefix = 3});
}

Json body(const RequestBodies& bodies, std::size_t number) {
  return parse_json(bodies.write(number), "body", "json");
}

TEST(RequestBodies, OfCompletionsAreIds) {
  const Traffic traffic = some_traffic();
  const RequestBodies bodies(traffic, kNone,
                             {.model = "a\"b", .prompt_ids = {7, 8, 9}, .temperature = 0.25});
  EXPECT_EQ(bodies.path(), "/v1/completions");
  for (std::size_t i = 0; i < traffic.requests.size(); ++i) {
    const Json j = body(bodies, i);
    EXPECT_EQ(std::ssize(*j.find("prompt")->as_array()), traffic.requests[i].prompt_tokens);
    EXPECT_EQ(*j.find("max_tokens")->as_int(), traffic.requests[i].output_tokens);
    EXPECT_EQ(*j.find("model")->as_string(), "a\"b");
    EXPECT_EQ(j.find("temperature")->number(), 0.25);
    EXPECT_TRUE(*j.find("ignore_eos")->as_bool());
    EXPECT_EQ(bodies.write(i), bodies.write(i));
  }
  EXPECT_NE(bodies.write(0), bodies.write(1));
}

TEST(RequestBodies, OfChatsAreWords) {
  const Traffic traffic = some_traffic();
  const RequestBodies bodies(
      traffic, kNone, {.is_chat = true, .model = "m", .prompt_ids = {}, .ignore_eos = false});
  EXPECT_EQ(bodies.path(), "/v1/chat/completions");
  std::set<std::string> beginnings;
  for (std::size_t i = 0; i < traffic.requests.size(); ++i) {
    const Json j = body(bodies, i);
    EXPECT_EQ(j.find("ignore_eos"), nullptr);
    const std::string& text = *j.find("messages")->as_array()->front().find("content")->as_string();
    EXPECT_EQ(std::count(text.begin(), text.end(), ' ') + 1, traffic.requests[i].prompt_tokens);
    std::size_t end = 0;
    for (int word = 0; word < 3; ++word) end = text.find(' ', end + 1);
    beginnings.insert(text.substr(0, end));
  }
  EXPECT_EQ(beginnings.size(), 1U) << "three words that all have in common";
}

TEST(RequestBodies, TakeConversations) {
  const Traffic traffic = some_traffic();
  const std::vector<Conversation> two{{.prompt = "a\nb", .answer_bytes = 1},
                                      {.prompt = "c", .answer_bytes = 1}};
  const RequestBodies bodies(traffic, two, {.model = "m", .prompt_ids = {1}});
  std::set<std::string> prompts;
  for (std::size_t i = 0; i < 2; ++i) prompts.insert(*body(bodies, i).find("prompt")->as_string());
  EXPECT_EQ(prompts, (std::set<std::string>{"a\nb", "c"}));
}

TEST(ConversationOf, VisitsAllBeforeAnyComesAgain) {
  for (std::size_t count = 1; count < 40; ++count) {
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{5}, ~std::uint64_t{0}}) {
      std::set<std::size_t> seen;
      for (std::size_t i = 0; i < count; ++i) seen.insert(conversation_of(i, count, seed));
      EXPECT_EQ(seen.size(), count);
      EXPECT_LT(*seen.rbegin(), count);
      EXPECT_EQ(conversation_of(count + 1, count, seed), conversation_of(1, count, seed));
    }
  }
}

}  // namespace
}  // namespace ingot
