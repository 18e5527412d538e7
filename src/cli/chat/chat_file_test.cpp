// Saved chats: what is written is read again, and anything else is refused with a line.
#include "cli/chat/chat_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"

namespace ingot {
namespace {

const std::vector<ChatMessage> kChat{
    {"system", "Be brief."}, {"user", "one\ntwo \"\\\" \x1b[2J \xc3\xa9"},
    {"assistant", ""},       {"user", ""},
    {"assistant", "and?"},
};

std::string refusal(std::string_view text) {
  try {
    parse_saved_chat(text, "f.json");
    return "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_EQ(error.message().substr(0, 14), "f.json: chat @") << error.message();
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
    return error.message().substr(error.message().find(' ', 8) + 1);
  }
}

std::string with_messages(std::string_view messages) {
  return cat(R"({"format": "ingot-chat", "version": 1, "model": "m", "messages": [)", messages,
             "]}");
}

TEST(ChatFile, WhatIsWrittenIsReadAgain) {
  EXPECT_EQ(parse_saved_chat(format_saved_chat(kChat, "m.gguf"), "f"), kChat);
  EXPECT_EQ(parse_saved_chat(format_saved_chat({}, ""), "f"), std::vector<ChatMessage>());
}

const std::vector<ChatMessage> kCalls{
    {"user", "how warm?"},
    {.role = "assistant",
     .content = "",
     .reasoning = "look",
     .calls = {{"call00000", "f", R"({"a": 1})"}, {"call00001", "g", "no JSON"}}},
    {.role = "tool", .content = "20", .call_id = "call00000", .name = "f"},
    {.role = "tool", .content = "", .call_id = "call00001", .name = "g"},
};

TEST(ChatFile, KeepsCallsAndTheirResults) {
  std::vector<ChatMessage> chat = kCalls;
  EXPECT_EQ(parse_saved_chat(format_saved_chat(chat, "m"), "f"), chat);
  chat.push_back({"assistant", "20 degrees"});
  chat.push_back({"user", "thanks"});
  chat.push_back({"assistant", "!"});
  EXPECT_EQ(parse_saved_chat(format_saved_chat(chat, "m"), "f"), chat);
}

TEST(ChatFile, EachCallHasItsResult) {
  const auto without = [](std::size_t message) {
    std::vector<ChatMessage> chat = kCalls;
    chat.erase(chat.begin() + static_cast<std::ptrdiff_t>(message));
    return refusal(format_saved_chat(chat, "m"));
  };
  EXPECT_EQ(without(1), "@0: message 2 is of role tool, expected assistant");
  EXPECT_EQ(without(2), "@0: message 3 is no result of the call call00000");
  EXPECT_EQ(without(3), "@0: the call call00001 has no result");
  std::vector<ChatMessage> chat(kCalls.begin(), kCalls.begin() + 2);
  chat.push_back({"user", "well?"});
  EXPECT_EQ(refusal(format_saved_chat(chat, "m")), "@0: message 3 is of role user, expected tool");
}

TEST(ChatFile, TemplatesGetArgumentsAsObjects) {
  const Json text = message_json(kCalls[1], ArgumentForm::kText);
  const Json object = message_json(kCalls[1], ArgumentForm::kObject);
  const auto arguments = [](const Json& message, std::size_t call) {
    return message.find("tool_calls")->as_array()->at(call).find("function")->find("arguments");
  };
  EXPECT_EQ(arguments(text, 0)->dump(), R"("{\"a\": 1}")");
  EXPECT_EQ(arguments(object, 0)->find("a")->dump(), "1");
  EXPECT_EQ(arguments(object, 1)->dump(), R"("no JSON")");
}

TEST(ChatFile, EveryTruncationIsRefused) {
  std::string text = format_saved_chat(kChat, "m.gguf");
  text.pop_back();  // without its last line break it is whole
  for (std::size_t n = 0; n < text.size(); ++n) {
    EXPECT_NE(refusal(text.substr(0, n)), "taken") << n << " bytes";
  }
}

TEST(ChatFile, SaysWhatIsWrong) {
  EXPECT_EQ(refusal(with_messages("")), "taken");
  EXPECT_EQ(refusal("[]"), "@0: the file is an array, expected an object");
  EXPECT_EQ(refusal("{}"), "@0: format is missing");
  EXPECT_EQ(refusal(R"({"format": "x", "version": 1, "model": "", "messages": []})"),
            "@0: format is not ingot-chat");
  EXPECT_EQ(refusal(R"({"format": "ingot-chat", "version": 2, "model": "", "messages": []})"),
            "@0: version is not 1");
  EXPECT_EQ(refusal(R"({"format": "ingot-chat", "version": 1, "model": 1, "messages": []})"),
            "@0: model is an integer, not a string");
  EXPECT_EQ(refusal(R"({"format": "ingot-chat", "version": 1, "model": "", "messages": {}})"),
            "@0: messages is no array");
  EXPECT_EQ(refusal(R"({"more": 1})"), "@0: the file has a member more, which is unknown");
  EXPECT_EQ(refusal(with_messages("1")), "@0: message 1 is an integer, expected an object");
  EXPECT_EQ(refusal(with_messages(R"({"role": "user"})")), "@0: content is missing");
  EXPECT_EQ(refusal(with_messages(R"({"role": "user", "content": null})")),
            "@0: content is null, not a string");
  EXPECT_EQ(refusal(with_messages(R"({"role": "user", "content": "", "name": "x"})")),
            "@0: message 1 has a member name, which is unknown");
}

TEST(ChatFile, RolesComeInTurn) {
  const auto chat = [](std::initializer_list<std::string_view> roles) {
    std::string list;
    for (const std::string_view role : roles) {
      list += cat(list.empty() ? "" : ", ", R"({"role": ")", role, R"(", "content": "x"})");
    }
    return refusal(with_messages(list));
  };
  EXPECT_EQ(chat({"system", "user", "assistant", "user", "assistant"}), "taken");
  EXPECT_EQ(chat({"user", "assistant"}), "taken");
  EXPECT_EQ(chat({"system"}), "taken");
  EXPECT_EQ(chat({"assistant"}), "@0: message 1 is of role assistant, expected system or user");
  EXPECT_EQ(chat({"system", "user"}), "@0: message 2 has no reply");
  EXPECT_EQ(chat({"user", "user"}), "@0: message 2 is of role user, expected assistant");
  EXPECT_EQ(chat({"user", "assistant", "system"}),
            "@0: message 3 is of role system, expected user");
  EXPECT_EQ(chat({"\\u001b[2J"}), "@0: message 1 is of role \\x1b[2J, expected system or user");
}

TEST(ChatFile, TooManyMessagesAreRefused) {
  std::vector<ChatMessage> messages(kChatMessagesMax, {"user", ""});
  for (std::size_t i = 1; i < messages.size(); i += 2) messages[i].role = "assistant";
  EXPECT_EQ(refusal(format_saved_chat(messages, "")), "taken");
  messages.insert(messages.begin(), {"system", ""});
  EXPECT_EQ(refusal(format_saved_chat(messages, "")), "@0: 4097 messages are more than 4096");
}

TEST(ChatFile, ReplacesNothingButSavedChats) {
  const TempFolder folder;
  const std::string path = folder.path("chat.json");
  save_chat(path, kChat, "m");
  save_chat(path, {kChat[0]}, "m");
  EXPECT_EQ(load_chat(path), std::vector<ChatMessage>{kChat[0]});
  const std::string other = folder.path("notes.txt");
  std::ofstream(other) << "mine";
  EXPECT_THROW(save_chat(other, kChat, "m"), Error);
  EXPECT_THROW(load_chat(other), Error);
  EXPECT_THROW(load_chat(folder.path("none")), Error);
  std::string kept;
  std::ifstream(other) >> kept;
  EXPECT_EQ(kept, "mine");
}

}  // namespace
}  // namespace ingot
