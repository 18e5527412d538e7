// Errors that clients get: the members they name, and their messages.
#include "server/common/api_error.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "load/json.h"

namespace ingot {
namespace {

std::string param_in(const std::string& message) {
  return api_error(Error(ErrorCode::kInvalid, message)).param;
}

TEST(ApiError, NamesTheMemberWithItsPath) {
  EXPECT_EQ(param_in("top_p is 2, possible are values from 0 to 1"), "top_p");
  EXPECT_EQ(param_in("stop: 65 strings are more than 64"), "stop");
  EXPECT_EQ(param_in("stop[3] is null, expected a string"), "stop[3]");
  EXPECT_EQ(param_in("logit_bias[1][0] is 5, possible are ..."), "logit_bias[1][0]");
  EXPECT_EQ(param_in("logit_bias[\"50257\"] is 101, possible are ..."), "logit_bias[\"50257\"]");
  EXPECT_EQ(param_in("logit_bias[\"a\"]b\"] is no token id"), "logit_bias[\"a\"]b\"]");
  for (const char* text : {"", "[3] is null", "the request was cancelled", "stop[3 is null",
                           "stop[\"3 is null", "stop[3]"}) {
    EXPECT_EQ(param_in(text), "") << text;
  }
}

/// The message of a prompt that is too long.
std::string too_long(std::int64_t tokens, bool is_exact, ErrorForm form) {
  const ApiError error = prompt_too_long("input[17]", tokens, 64, is_exact);
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.param, "input[17]");
  const Json body = parse_json(error_json(error, form), "test", "json");
  const Json& inner = *body.find("error");
  EXPECT_EQ(*inner.find_string("code"), "context_length_exceeded");
  EXPECT_EQ(*inner.find_string("type"), "invalid_request_error");
  EXPECT_EQ(inner.find("n_prompt_tokens") != nullptr, is_exact);
  return *inner.find_string("message");
}

TEST(ApiError, TellsHowLongAPromptIs) {
  EXPECT_EQ(too_long(100, true, ErrorForm::kOpenAi),
            "This model's maximum context length is 64 tokens, the prompt has 100: it must leave "
            "room for another token");
  EXPECT_EQ(too_long(100, false, ErrorForm::kOpenAi),
            "This model's maximum context length is 64 tokens, the prompt has 100 or more: it "
            "must leave room for another token");
  EXPECT_EQ(too_long(100, true, ErrorForm::kAnthropic),
            "prompt is too long: 100 tokens > 64 maximum");
  EXPECT_EQ(too_long(100, false, ErrorForm::kAnthropic),
            "prompt is too long: 100 tokens > 64 maximum");
  // 64 are not more than 64, but leave no room.
  EXPECT_EQ(too_long(64, true, ErrorForm::kAnthropic),
            "prompt is too long: 64 tokens > 63 maximum");
}

TEST(ApiError, HasNoOffsetIfTheErrorHasNone) {
  EXPECT_EQ(api_error(model_error("m", "chat template", "there is none")).message,
            "m: chat template: there is none");
  EXPECT_EQ(api_error(model_error("m", "tensors", 0, "is wrong")).message,
            "m: tensors @0: is wrong");
}

}  // namespace
}  // namespace ingot
