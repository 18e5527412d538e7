// find_end_tokens: known texts, and a trial rendering of the chat template.
#include "text/chat/end_tokens.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "load/json_object.h"
#include "text/chat/chat_template.h"
#include "text/unicode/unicode_text.h"

namespace ingot {

namespace {

constexpr std::string_view kPartEnd = "<|end|>";

/// Texts of tokens that end a text in some family.
/// Source: tokenizer_config.json and generation_config.json of the families named.
constexpr std::string_view kKnownEnds[] = {
    "</s>",                   // Llama 2, Mistral, T5
    "<eos>",                  // Gemma
    "[EOS]",                  // JAIS
    "<|endoftext|>",          // GPT-2, Qwen, Phi
    "<|end_of_text|>",        // Llama 3, Granite
    "<|eos|>",                // Reka
    "<seed:eos>",             // Seed
    "<｜end▁of▁sentence｜>",  // DeepSeek
    "<|eot_id|>",             // Llama 3
    "<|eom_id|>",             // Llama 3, before a tool's result
    "<|eot|>",                // Llama 4
    "<|eom|>",                // Llama 4
    "<|im_end|>",             // ChatML
    kPartEnd,                 // Phi 3
    "<|return|>",             // gpt-oss
    "<|calls|>",              // gpt-oss's early files
    "[EOT]",                  // old conversions
    "<|call|>",               // gpt-oss
    "<|flush|>",              // Solar Open
    "<end_of_turn>",          // Gemma 2 and 3
    "<turn|>",                // Gemma 4
    "<|end_of_turn|>",        // OpenChat
    "<|endofturn|>",          // HyperCLOVA X
    "[|endofturn|]",          // EXAONE
    "<|END_OF_TURN_TOKEN|>",  // Command R
    "<end_of_utterance>",     // SmolVLM
    "<|role_end|>",           // Ling
    "<EOT>",                  // many code models
    "<|EOT|>",                // DeepSeek Coder
    "▁<EOT>",                 // CodeLlama
    "<|fim_pad|>",            // Qwen2.5-Coder
    "<fim_pad>",              // StarCoder, Granite
    "<fim-pad>",              // SantaCoder
    "<|repo_name|>",          // Qwen2.5-Coder
    "<reponame>",             // StarCoder, Granite
    "<repo_name>",            // StarCoder2
    "<|file_sep|>",           // Qwen2.5-Coder
    "<file_sep>",             // StarCoder2
    "<|file_separator|>",     // CodeGemma
    "<filename>",             // StarCoder, Granite
};

bool is_known_end(std::string_view text) {
  return std::find(std::begin(kKnownEnds), std::end(kKnownEnds), text) != std::end(kKnownEnds);
}

/// Returns whether a token with a known text ends a text: a control token, or a user-defined token
/// `<|...|>`, because old files call some control tokens user-defined.
bool may_be_end(const Tokenizer& tokenizer, std::int32_t id) {
  const TokenType type = tokenizer.type(id);
  if (type == TokenType::kControl) return true;
  const std::string_view text = tokenizer.piece(id);
  return type == TokenType::kUserDefined && text.starts_with("<|") && text.ends_with("|>");
}

/// A chat of two or three messages. No template changes these texts.
constexpr std::string_view kAsked = "ingotasked";
constexpr std::string_view kReplied = "ingotreplied";
constexpr std::string_view kAskedMore = "ingotaskedmore";

ChatInput trial_chat(bool goes_on) {
  ChatInput chat{.add_generation_prompt = false};
  const auto add = [&](std::string_view role, std::string_view content) {
    Json message = Json::object();
    message.set("role", role);
    message.set("content", content);
    chat.messages.push(std::move(message));
  };
  add("user", kAsked);
  add("assistant", kReplied);
  if (goes_on) add("user", kAskedMore);
  chat.now.tm_year = 124;
  chat.now.tm_mday = 1;
  return chat;
}

/// Returns the control token that ends the reply in a rendered trial chat: the first behind the
/// reply. If plain text follows this token, the token marks a part of the reply by name (Kimi K3:
/// <|close|> response). Then the last control token of the message ends the reply.
std::optional<std::int32_t> end_behind_reply(const MarkedText& prompt, const Tokenizer& tokenizer) {
  const std::string_view bytes = prompt.bytes;
  std::size_t from = bytes.rfind(kReplied);
  if (from == std::string_view::npos) return std::nullopt;
  from += kReplied.size();
  MarkedText rest;
  rest.append(prompt, from, std::min(bytes.find(kAskedMore, from), bytes.size()));
  const std::vector<std::int32_t> ids =
      tokenizer.encode(rest.bytes, {.parse_special = true, .added_within = rest.own});
  const auto ends = [&](std::int32_t id) {
    const bool only_begins = id == tokenizer.bos() && id != tokenizer.eos();
    return tokenizer.type(id) == TokenType::kControl && !only_begins;
  };
  const auto first = std::find_if(ids.begin(), ids.end(), ends);
  if (first == ids.end()) return std::nullopt;
  const bool is_named = first + 1 != ids.end() && tokenizer.type(first[1]) != TokenType::kControl &&
                        leading_space(tokenizer.piece(first[1])) == 0;
  return is_named ? *std::find_if(ids.rbegin(), ids.rend(), ends) : *first;
}

/// Returns the token that ends the reply in a trial chat; nothing if the template refuses the chat.
std::optional<std::int32_t> end_in_chat(const ChatTemplate& chat_template, bool goes_on,
                                        const Tokenizer& tokenizer) {
  try {
    return end_behind_reply(chat_template.render(trial_chat(goes_on)), tokenizer);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Returns the token that the template writes behind an assistant's message. Some templates write
/// none behind the last message. Then the token that begins the next message ends the reply.
std::optional<std::int32_t> end_in_template(const std::string& source, const Tokenizer& tokenizer) {
  try {
    const ChatTemplate chat_template(source, "trial", tokenizer);
    const auto id = end_in_chat(chat_template, false, tokenizer);
    return id ? id : end_in_chat(chat_template, true, tokenizer);
  } catch (const Error&) {
    return std::nullopt;  // the template does not parse
  }
}

/// Removes <|end|> if the vocabulary has <|return|> and <|call|>.
void drop_part_end(std::vector<EndToken>& ends, const Tokenizer& tokenizer) {
  const auto has = [&](std::string_view text) {
    return std::any_of(ends.begin(), ends.end(),
                       [&](const EndToken& end) { return tokenizer.piece(end.id) == text; });
  };
  if (!has("<|return|>") || !has("<|call|>")) return;
  std::erase_if(ends, [&](const EndToken& end) { return tokenizer.piece(end.id) == kPartEnd; });
}

}  // namespace

std::vector<EndToken> find_end_tokens(std::span<const EndToken> stated, const Tokenizer& tokenizer,
                                      const std::string* chat_template) {
  std::vector<EndToken> ends(stated.begin(), stated.end());
  for (const auto& id : {tokenizer.eos(), tokenizer.eot(), tokenizer.eom()}) {
    if (id) add_end(ends, *id, "tokenizer");
  }
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) {
    if (may_be_end(tokenizer, id) && is_known_end(tokenizer.piece(id))) {
      add_end(ends, id, "the token's text");
    }
  }
  if (chat_template != nullptr) {
    const auto id = end_in_template(*chat_template, tokenizer);
    if (id) add_end(ends, *id, "chat template");
  }
  drop_part_end(ends, tokenizer);
  return ends;
}

Json end_tokens_json(std::span<const EndToken> ends, const Tokenizer* tokenizer) {
  Json out = Json::array();
  for (const EndToken& end : ends) {
    const Json text = tokenizer == nullptr ? Json() : Json(printable(tokenizer->piece(end.id)));
    out.push(json_object({{"id", end.id}, {"text", text}, {"source", end.source}}));
  }
  return out;
}

}  // namespace ingot
