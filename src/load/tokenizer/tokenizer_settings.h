// Reads tokenizer_config.json and special_tokens_map.json, the settings beside a vocabulary.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/json.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// The settings of such files; absent where a file does not state them.
struct TokenizerSettings {
  std::string file;  ///< for error messages
  std::optional<std::string> tokenizer_class;
  std::optional<AddedToken> bos, eos, unknown, padding, cls, sep, mask;
  std::optional<bool> add_bos, add_eos;
  std::optional<bool> lowercase, strip_accents, space_cjk;  ///< for BERT
  std::vector<AddedToken> added;                            ///< added_tokens_decoder, with ids
  std::vector<AddedToken> special;                          ///< additional_special_tokens
  std::optional<std::string> chat_template;
  std::vector<NamedTemplate> named_templates;
};

/// Reads one of the two files. Members that do not concern tokens are ignored.
///
/// Errors: model_error(file, "tokenizer config", 0, reason) that names the member.
TokenizerSettings read_tokenizer_settings(const Json& root, const std::string& file);

/// Fills settings that `settings` lacks from `more`.
void complete_settings(TokenizerSettings& settings, TokenizerSettings more);

/// The default tokens of a tokenizer class; nothing for an unknown class.
///
/// Source:  the classes' defaults in Hugging Face's transformers.
std::optional<TokenizerSettings> class_defaults(std::string_view tokenizer_class);

/// Adds tokens, roles, frame and templates to a description. Tokens without an id are looked up;
/// a token outside the vocabulary is skipped with a warning.
///
/// Errors: model_error(settings.file, "tokenizer config", 0, reason) for tokens that contradict the
/// vocabulary.
void apply_settings(TokenizerData& data, const TokenizerSettings& settings);

/// Adds the tokens of an added_tokens.json, {"<text>": id}, an older form.
///
/// Errors: those of read_tokenizer_settings.
void read_legacy_added(const Json& root, const std::string& file, TokenizerSettings& settings);

/// Adds the template of a chat_template.json.
///
/// Errors: those of read_tokenizer_settings.
void read_chat_template(const Json& root, const std::string& file, TokenizerSettings& settings);

}  // namespace ingot
