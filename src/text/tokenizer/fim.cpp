// Fill-in-the-middle: finds the tokens of known families, and puts prompts together.
#include "text/tokenizer/fim.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/index.h"
#include "base/text.h"
#include "text/tokenizer/tokenizer.h"

namespace ingot {
namespace {

using FimId = std::optional<std::int32_t>;

/// The token texts of a family. `middle` is empty if the family's prompts end with the second text.
struct FimFamily {
  std::string_view prefix, suffix, middle;
  bool suffix_first = false;
};

/// Sources:  the READMEs of Qwen2.5-Coder, CodeGemma, StarCoder2, SantaCoder and DeepSeek-Coder;
///           CodeLlama, llama/generation.py, infilling_prompt_tokens;
///           Codestral, mistral-common, InstructTokenizerV2.encode_fim;
///           Seed-Coder, arXiv 2506.03524, "Fill-in-the-Middle";
///           GLM-4.5, llama.cpp, src/llama-vocab.cpp.
constexpr auto kFimFamilies = std::to_array<FimFamily>({
    // Qwen2.5-Coder, CodeGemma, Granite 4
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},
    // StarCoder, StableCode, Granite
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},
    // SantaCoder
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},
    // DeepSeek-Coder
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},
    // CodeLlama, in two spellings
    {"▁<PRE>", "▁<SUF>", "▁<MID>"},
    {"<PRE>", "<SUF>", "<MID>"},
    // GLM-4.5
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},
    // Codestral
    {"[PREFIX]", "[SUFFIX]", "", true},
    // Seed-Coder
    {"<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", true},
});
constexpr std::array<std::string_view, 3> kRepositoryNames = {"<|repo_name|>", "<repo_name>",
                                                              "<reponame>"};
constexpr std::array<std::string_view, 3> kFileNames = {"<|file_sep|>", "<file_sep>",
                                                        "<|file_separator|>"};

/// The ids of tokens that look like names of special tokens.
class FimNames {
 public:
  explicit FimNames(const TokenizerData& data) {
    for (std::size_t i = 0; i < data.tokens.size(); ++i) {
      const std::string_view text = data.tokens[i];
      const bool is_name = text.size() >= 5 && (text.ends_with('>') || text.ends_with(']'));
      if (is_name) ids_.emplace(text, static_cast<std::int32_t>(i));
    }
  }

  FimId find(std::string_view name) const {
    const auto at = ids_.find(name);
    return at == ids_.end() ? FimId() : at->second;
  }
  FimId find_any(std::span<const std::string_view> names) const {
    for (const std::string_view name : names) {
      if (const FimId id = find(name)) return id;
    }
    return {};
  }

 private:
  std::map<std::string_view, std::int32_t> ids_;
};

/// The format by the ids that the file states. The prefix token's text may tell the family.
std::optional<FimFormat> stated_format(const TokenizerData& data, const FimNames& names) {
  if (!data.fim.prefix || !data.fim.suffix) return {};
  FimFormat format{
      .prefix = *data.fim.prefix, .suffix = *data.fim.suffix, .middle = data.fim.middle};
  for (const FimFamily& family : kFimFamilies) {
    if (data.tokens[to_size(format.prefix)] != family.prefix) continue;
    format.suffix_first = family.suffix_first;
    if (family.middle.empty()) {
      format.middle.reset();
      return format;
    }
    if (!format.middle) format.middle = names.find(family.middle);
  }
  return format.middle ? std::optional(format) : std::nullopt;
}

std::optional<FimFormat> named_format(const FimNames& names) {
  for (const FimFamily& family : kFimFamilies) {
    const FimId prefix = names.find(family.prefix);
    const FimId suffix = names.find(family.suffix);
    const FimId middle = family.middle.empty() ? FimId() : names.find(family.middle);
    if (!prefix || !suffix || (!middle && !family.middle.empty())) continue;
    return FimFormat{.prefix = *prefix,
                     .suffix = *suffix,
                     .middle = middle,
                     .suffix_first = family.suffix_first};
  }
  return {};
}

/// Puts a prompt's tokens together.
class FimPrompt {
 public:
  FimPrompt(const Tokenizer& tokenizer, const FimFormat& format, bool parse_special)
      : tokenizer_(tokenizer),
        format_(format),
        encode_{.parse_special = parse_special},
        ids_(tokenizer.encode("", {.add_begin = true})) {}

  /// Adds files in the form of llama.cpp's server, because its clients rely on this form. As in
  /// Qwen2.5-Coder, the repository's name comes first, and each file's name stands before the file.
  /// If the model has no tokens for names, lines separate the files.
  void add_files(std::span<const FimFile> files) {
    if (files.empty()) return;
    if (format_.repository) add_name(format_.repository, "myproject");
    for (const FimFile& file : files) {
      if (format_.file) {
        add_name(format_.file, file.name);
      } else {
        add_text("\n\n--- snippet ---\n\n");
      }
      add_text(file.text);
    }
    if (format_.file) add_name(format_.file, "filename");
  }
  void add_prefix(std::string_view text) {
    ids_.push_back(format_.prefix);
    add_text(text);
  }
  /// Adds the suffix. It continues a text, so it lacks the space that SentencePiece adds in front.
  /// Source:  CodeLlama, llama/tokenizer.py, encode_infilling.
  void add_suffix(std::string_view text) {
    constexpr std::string_view kMark = "☺";
    ids_.push_back(format_.suffix);
    const std::vector<std::int32_t> mark = tokenizer_.encode(kMark);
    const bool adds_space = !mark.empty() && tokenizer_.piece(mark.front()).starts_with(' ');
    if (!adds_space || text.empty()) return add_text(text);
    const auto marked = tokenizer_.encode(cat(kMark, text), encode_);
    const std::span rest = std::span(marked).subspan(std::min(mark.size(), marked.size()));
    ids_.insert(ids_.end(), rest.begin(), rest.end());
  }

  std::vector<std::int32_t> finish() {
    if (format_.middle) ids_.push_back(*format_.middle);
    return std::move(ids_);
  }

 private:
  void add_name(FimId token, std::string_view name) {
    ids_.push_back(*token);
    add_text(cat(name, "\n"));
  }
  void add_text(std::string_view text) {
    const std::vector<std::int32_t> more = tokenizer_.encode(text, encode_);
    ids_.insert(ids_.end(), more.begin(), more.end());
  }

  const Tokenizer& tokenizer_;
  const FimFormat& format_;
  const EncodeOptions encode_;
  std::vector<std::int32_t> ids_;
};

}  // namespace

std::optional<FimFormat> find_fim(const TokenizerData& data) {
  const FimNames names(data);
  std::optional<FimFormat> format = stated_format(data, names);
  if (!format) format = named_format(names);
  if (!format) return {};
  const auto either = [](FimId stated, FimId named) { return stated ? stated : named; };
  format->repository = either(data.fim.repository, names.find_any(kRepositoryNames));
  format->file = either(data.fim.file, names.find_any(kFileNames));
  return format;
}

std::vector<std::int32_t> encode_fim(const Tokenizer& tokenizer, const FimText& text) {
  INGOT_CHECK(tokenizer.fim().has_value(), "no tokens of fill-in-the-middle");
  const FimFormat& format = *tokenizer.fim();
  FimPrompt prompt(tokenizer, format, text.parse_special);
  prompt.add_files(text.files);
  if (format.suffix_first) prompt.add_suffix(text.suffix);
  prompt.add_prefix(text.prefix);
  if (!format.suffix_first) prompt.add_suffix(text.suffix);
  return prompt.finish();
}

}  // namespace ingot
