// Tests of the set of end tokens: of real templates and tokenizers, by family, and of rules.
#include "text/chat/end_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "load/tokenizer/tokenizer_files.h"
#include "text/chat/named_templates.h"
#include "text/tokenizer/tokenizer_test_util.h"

namespace ingot {
namespace {

using testing::TestPiece;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (space > 0) out.emplace_back(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out;
}

/// Makes a tokenizer for all bytes, with <bos> and the control tokens of a list of words. The first
/// word is the EOS.
std::unique_ptr<Tokenizer> with_controls(std::string_view controls) {
  std::vector<TestPiece> added = {{"<bos>", TokenType::kControl}};
  for (const std::string& text : words(controls)) added.push_back({text, TokenType::kControl});
  TokenizerData data = testing::byte_level_data("gpt-2", {}, added);
  data.bos = 256;
  if (added.size() > 1) data.eos = 257;
  std::vector<std::string> warnings;
  return make_tokenizer(data, warnings);
}

/// Returns the texts of the set, each with its source if `sources`, joined by spaces.
std::string set_of(const Tokenizer& tokenizer, const std::string* chat_template,
                   bool sources = false, std::vector<EndToken> stated = {}) {
  std::string out;
  for (const EndToken& end : find_end_tokens(stated, tokenizer, chat_template)) {
    out += cat(out.empty() ? "" : " ", tokenizer.piece(end.id),
               sources ? cat("=", end.source) : std::string());
  }
  return out;
}

/// A family's template: its control tokens, the EOS of its files first, and the expected set.
struct Family {
  std::string_view file;      ///< begins the template's name in the data folder
  std::string_view controls;  ///< control tokens of the vocabulary
  std::string_view set;       ///< the tokens that end a text
  std::string_view why;       ///< for the reader of a failure
};

constexpr Family kFamilies[] = {
    {"Apertus", "</s> <|assistant_end|> <|user_start|>", "</s> <|assistant_end|>",
     "the next message's turn closes the reply"},
    {"Bielik", "</s> <|im_start|> <|im_end|>", "</s> <|im_end|>", "ChatML"},
    {"ByteDance-Seed-OSS", "<seed:eos> <seed:bos>", "<seed:eos>", "the template writes the EOS"},
    {"Cohere2MoE", "<|END_OF_TURN_TOKEN|> <|START_OF_TURN_TOKEN|> <|END_TEXT|> <|START_TEXT|>",
     "<|END_OF_TURN_TOKEN|> <|END_TEXT|>", "the text ends before the turn"},
    {"CohereForAI-c4ai-command-r-plus", "<EOS_TOKEN> <|START_OF_TURN_TOKEN|> <|END_OF_TURN_TOKEN|>",
     "<EOS_TOKEN> <|END_OF_TURN_TOKEN|>", "the file names the base model's EOS"},
    {"GLM-4.6", "<|endoftext|> <|user|> <|assistant|> <|observation|>", "<|endoftext|> <|user|>",
     "a reply ends where the next message begins"},
    {"GigaChat3-10B", "</s> <|message_sep|> <|role_sep|>", "</s> <|message_sep|>",
     "a separator of its own"},
    {"HuggingFaceTB-SmolLM3", "<|endoftext|> <|im_start|> <|im_end|>", "<|endoftext|> <|im_end|>",
     "ChatML over a base model's EOS"},
    {"Kimi-K2-Instruct", "[EOS] <|im_user|> <|im_middle|> <|im_end|>", "[EOS] <|im_end|>",
     "ChatML's end, other headers"},
    {"Kimi-K3", "[EOS] <|open|> <|close|> <|sep|> <|end_of_msg|>", "[EOS] <|end_of_msg|>",
     "<|close|> and <|sep|> close named parts inside a reply"},
    {"MiniMax-M1", "</s> <beginning_of_sentence> <end_of_sentence>", "</s> <end_of_sentence>",
     "an unknown text"},
    {"MiniMax-M2", "</s> ]~b] [e~[", "</s> [e~[", "an unknown text"},
    {"Mistral-Small-3.2", "</s> [INST] [/INST] [SYSTEM_PROMPT] [/SYSTEM_PROMPT]", "</s>",
     "the template writes the EOS"},
    {"NVIDIA-Nemotron-Nano-v2", "</s> <SPECIAL_10> <SPECIAL_11> <SPECIAL_12>", "</s> <SPECIAL_12>",
     "a reserved token"},
    {"Qwen-Qwen2.5-7B", "<|endoftext|> <|im_start|> <|im_end|> <|fim_pad|> <|repo_name|>",
     "<|endoftext|> <|im_end|> <|fim_pad|> <|repo_name|>", "the base model's EOS; code models"},
    {"Qwen-Qwen3-0.6B", "<|im_end|> <|im_start|> <|endoftext|> <think>", "<|im_end|> <|endoftext|>",
     "the chat model's EOS; base text ends otherwise"},
    {"Reka-Edge", "<|endoftext|> <sep>", "<|endoftext|> <sep>", "an unknown text"},
    {"deepseek-ai-DeepSeek-V3.1", "<｜end▁of▁sentence｜> <｜User｜> <｜Assistant｜>",
     "<｜end▁of▁sentence｜>", "the template writes the EOS"},
    {"google-gemma-2-2b-it", "<eos> <start_of_turn> <end_of_turn>", "<eos> <end_of_turn>",
     "the file names the base model's EOS"},
    {"google-gemma-4-31B-it.", "<eos> <|turn> <turn|>", "<eos> <turn|>", "Gemma's new turns"},
    {"ibm-granite-granite-4.0", "<|end_of_text|> <|start_of_role|> <|end_of_role|>",
     "<|end_of_text|>", "the end of a role's name is no end"},
    {"meta-llama-Llama-3.1", "<|end_of_text|> <|start_header_id|> <|eot_id|> <|eom_id|>",
     "<|end_of_text|> <|eot_id|> <|eom_id|>", "a message that calls a tool ends too"},
    {"microsoft-Phi-3.5", "<|endoftext|> <|user|> <|assistant|> <|end|>", "<|endoftext|> <|end|>",
     "no part of a reply: there is no <|return|>"},
    {"muse-glimmer", "<|end_of_text|> <|start|> <|message|> <|eot|>", "<|end_of_text|> <|eot|>",
     "Llama 4's spelling"},
    {"openai-gpt-oss", "<|return|> <|start|> <|message|> <|end|> <|call|> <|channel|>",
     "<|return|> <|call|>", "<|end|> ends a part of a reply"},
    {"tencent-Hy3", "<|eos|> <｜hy_eos:opensource｜> <｜hy_User:opensource｜>",
     "<|eos|> <｜hy_eos:opensource｜>", "only written when the chat goes on"},
};

TEST(EndTokens, templates_of_families) {
  INGOT_NEEDS_SHARED("data/llama.cpp/templates");
  std::size_t found = 0;
  for (const std::filesystem::path& path : shared_entries("data/llama.cpp/templates")) {
    for (const Family& family : kFamilies) {
      if (!path.filename().string().starts_with(family.file)) continue;
      const std::string source = File(path.string()).read_all(std::uint64_t{1} << 20);
      EXPECT_EQ(set_of(*with_controls(family.controls), &source), family.set)
          << path.filename() << ": " << family.why;
      ++found;
    }
  }
  EXPECT_GE(found, 20u);
}

/// A real tokenizer: the folder and files that make it, and the expected set.
struct RealTokenizer {
  std::string_view folder;
  std::vector<std::string> files;  ///< empty: all files of the folder
  std::string_view set;
};

TEST(EndTokens, real_tokenizers) {
  INGOT_NEEDS_SHARED("data/tokenizers");
  const std::vector<RealTokenizer> all = {
      {"bert-base-uncased", {}, ""},
      {"falcon", {}, "<|endoftext|>"},
      {"gpt2", {}, "<|endoftext|>"},
      {"gpt2-hf", {}, "<|endoftext|>"},
      {"mistral", {"tokenizer.model.v1"}, "</s>"},
      {"mistral", {"mistral_instruct_tokenizer_240323.model.v3"}, "</s>"},
      {"mistral", {"mistral_instruct_tokenizer_241114.model.v7"}, "</s>"},
      {"phi-3", {}, "<|endoftext|> </s> <|end|>"},
      {"qwen2", {}, "<|endoftext|> <|im_end|>"},
      {"roberta-base", {}, "</s>"},
      {"t5-small", {}, "</s>"},
  };
  for (const RealTokenizer& one : all) {
    std::vector<std::string> paths;
    for (const auto& path : shared_entries(cat("data/tokenizers/", one.folder))) {
      const bool named = std::find(one.files.begin(), one.files.end(), path.filename().string()) !=
                         one.files.end();
      if (one.files.empty() || named) paths.push_back(path.string());
    }
    const TokenizerData data = read_tokenizer_files(paths);
    std::vector<std::string> warnings;
    const auto tokenizer = make_tokenizer(data, warnings);
    EXPECT_EQ(set_of(*tokenizer, standard_template(data.templates)), one.set) << one.folder;
  }
}

TEST(EndTokens, sources_say_what_names_each_token) {
  const std::string chat = "{% for m in messages %}{{ m.content }}<|done|>{% endfor %}";
  const auto tokenizer = with_controls("<eos> <|im_end|> <|done|> <stated>");
  EXPECT_EQ(set_of(*tokenizer, &chat, true, {{260, "generation_config.json"}}),
            "<stated>=generation_config.json <eos>=tokenizer <|im_end|>=the token's text "
            "<|done|>=chat template");
}

TEST(EndTokens, the_end_of_a_part_is_dropped_even_if_the_file_states_it) {
  const auto tokenizer = with_controls("<|return|> <|end|> <|call|>");
  EXPECT_EQ(set_of(*tokenizer, nullptr, true, {{258, "config.json"}, {257, "config.json"}}),
            "<|return|>=config.json <|call|>=the token's text");
  EXPECT_EQ(set_of(*with_controls("<|return|> <|end|>"), nullptr), "<|return|> <|end|>");
}

TEST(EndTokens, texts_count_for_control_tokens_only) {
  TokenizerData data = testing::byte_level_data("gpt-2", {},
                                                {{"</s>", TokenType::kNormal},
                                                 {"<eos>", TokenType::kUserDefined},
                                                 {"<|im_end|>", TokenType::kUserDefined},
                                                 {"<EOT>", TokenType::kControl},
                                                 {"<|other|>", TokenType::kControl}});
  std::vector<std::string> warnings;
  const auto tokenizer = make_tokenizer(data, warnings);
  EXPECT_EQ(set_of(*tokenizer, nullptr), "<|im_end|> <EOT>");
}

TEST(EndTokens, a_template_names_no_token_if) {
  const auto tokenizer = with_controls("<eos> <a> <b>");
  for (const std::string chat :
       {"{{ raise_exception('no') }}", "{% for m in messages %}", "<a>",
        "{{ messages[0].content }}<a>", "{% for m in messages %}{{ m.content }}\n{% endfor %}",
        "{% for m in messages %}<bos>{{ m.content }}{% endfor %}"}) {
    EXPECT_EQ(set_of(*tokenizer, &chat), "<eos>") << chat;
  }
}

TEST(EndTokens, the_first_token_behind_the_reply_counts) {
  const auto tokenizer = with_controls("<eos> <a> <b>");
  for (const auto& [chat, set] : std::vector<std::pair<std::string, std::string>>{
           {"{% for m in messages %}{{ m.content }} <a>\n<b>{% endfor %}", "<eos> <a>"},
           {"{% for m in messages %}<b>{{ m.content }}{% endfor %}", "<eos> <b>"},
           {"{% for m in messages %}<b>{{ m.content }}{{ eos_token }}{% endfor %}", "<eos>"},
           {"{% if messages[-1].role == 'assistant' %}{{ raise_exception('no') }}{% endif %}"
            "{% for m in messages %}{{ m.content }}<b>{% endfor %}",
            "<eos> <b>"},
           {"{% for m in messages %}{{ m.content }}<a>part<b>{% endfor %}", "<eos> <b>"}}) {
    EXPECT_EQ(set_of(*tokenizer, &chat), set) << chat;
  }
}

TEST(EndTokens, a_users_text_names_no_token) {
  const auto tokenizer = with_controls("<eos> ingotaskedmore");
  const std::string chat = "{% for m in messages %}{{ m.content }}{% endfor %}";
  EXPECT_EQ(set_of(*tokenizer, &chat), "<eos>");
}

}  // namespace
}  // namespace ingot
