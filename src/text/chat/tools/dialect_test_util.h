// Dialects of real templates, and their grammars over tokens of one byte. For tests only.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "constraint/matcher.h"
#include "constraint/token_trie.h"
#include "text/chat/tools/tool_dialect.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot::testing {

/// Where templates lie.
inline constexpr std::string_view kTemplates = "data/llama.cpp/templates";

/// A tokenizer of bytes.
inline std::unique_ptr<Tokenizer> tokenizer() {
  TokenizerData data = byte_level_data(
      "default", {{"q", "j"}}, {{"<s>", TokenType::kControl}, {"</s>", TokenType::kControl}});
  data.bos = 257;
  data.eos = 258;
  std::vector<std::string> warnings;
  return make_tokenizer(data, warnings);
}

/// Reads a file.
inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A template with its dialect.
struct Model {
  std::string name{};
  std::unique_ptr<Tokenizer> tokenizer{};
  std::unique_ptr<ChatTemplate> chat_template{};
  std::shared_ptr<const ToolDialect> dialect{};
};

/// All templates.
inline const std::vector<Model>& models() {
  static const std::vector<Model> all = [] {
    std::vector<Model> found;
    for (const std::filesystem::path& path : shared_entries(kTemplates)) {
      if (path.extension() != ".jinja") continue;
      const std::string source = text_of(path);
      Model model{.name = path.stem().string(), .tokenizer = tokenizer()};
      model.chat_template = std::make_unique<ChatTemplate>(source, model.name, *model.tokenizer);
      model.dialect = find_tool_dialect(*model.chat_template);
      found.push_back(std::move(model));
    }
    return found;
  }();
  return all;
}

/// Each byte is a token; so is each marker, behind them.
inline std::shared_ptr<const TokenTrie> byte_trie(const ToolDialect& dialect) {
  static const std::string bytes = [] {
    std::string all;
    for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
    return all;
  }();
  const auto markers = dialect.markers();
  return std::make_shared<TokenTrie>(
      static_cast<std::int32_t>(256 + markers.size()), [&](std::int32_t id) -> TokenTrie::Token {
        if (id < 256) return {std::string_view(bytes).substr(to_size(id), 1), TokenUse::kText};
        return {markers[to_size(id - 256)], TokenUse::kMarker};
      });
}

/// Compiles replies to a request with tools.
inline std::shared_ptr<const MatcherGrammar> reply_grammar(
    const Model& model, const ToolChoice& choice, std::span<const Tool> offered,
    const ReplyBegin& begin = {}, std::vector<SchemaNote>* notes = nullptr) {
  Grammar grammar;
  CompileBudget budget;
  std::vector<SchemaNote> own;
  grammar.set_root(
      model.dialect->add_reply(grammar, begin, offered, choice, notes ? *notes : own, budget));
  return make_matcher_grammar(std::move(grammar), byte_trie(*model.dialect), budget);
}

/// Whether a text is whole in a grammar.
inline bool accepts(const std::shared_ptr<const MatcherGrammar>& grammar, std::string_view text) {
  Matcher matcher(grammar);
  return matcher.accept_bytes(text) && matcher.is_complete();
}

/// An end of a value in dialects without quotes, which a random walk hardly ever writes whole: one
/// of these, or the closing tag of an element that `text` opens.
inline std::string some_value_end(std::string_view text, std::mt19937& random) {
  std::vector<std::string> ends = {"<|close|>argument<|sep|>", "</parameter>", "</arg_value>",
                                   "</argument>"};
  constexpr std::string_view kTag = "]<]minimax[>[<";
  for (auto tag = text.find(kTag); tag != text.npos; tag = text.find(kTag, tag + 1)) {
    const auto name = text.substr(tag + kTag.size());
    ends.push_back(cat(kTag, "/", name.substr(0, name.find('>')), ">"));
  }
  return ends[random() % ends.size()];
}

/// Writes a text that a grammar allows, byte by byte at random; nothing if it is too long.
inline std::optional<std::string> random_walk(const std::shared_ptr<const MatcherGrammar>& grammar,
                                              std::size_t tokens, std::mt19937& random,
                                              std::span<const std::string> markers) {
  Matcher matcher(grammar);
  std::string text;
  for (int steps = 0; steps < 3000; ++steps) {
    if (matcher.is_complete() && (!matcher.may_continue() || random() % 8 == 0)) return text;
    std::vector<std::int32_t> allowed;
    const auto mask = matcher.mask();
    for (std::size_t id = 0; id < tokens; ++id) {
      if ((mask[id / 32] >> (id % 32) & 1U) != 0) allowed.push_back(static_cast<std::int32_t>(id));
    }
    if (allowed.empty()) return text;
    if (random() % 8 == 0) {
      const std::string end = some_value_end(text, random);
      Matcher ended = matcher;
      if (ended.accept_bytes(end)) {
        matcher = std::move(ended);
        text += end;
        continue;
      }
    }
    // Quotes, brackets and markers end values: without a preference for them, walks get long.
    std::vector<std::int32_t> ends;
    for (const std::int32_t id : allowed) {
      if (id >= 256 ||
          std::string_view("\"}])<\n'|").find(static_cast<char>(id)) != std::string::npos) {
        ends.push_back(id);
      }
    }
    const auto& from = !ends.empty() && random() % 3 == 0 ? ends : allowed;
    const std::int32_t id = from[random() % from.size()];
    EXPECT_TRUE(matcher.accept(id));
    if (id < 256) {
      text += static_cast<char>(id);
    } else {
      text += markers[to_size(id - 256)];
    }
  }
  return std::nullopt;
}

}  // namespace ingot::testing
