// Reads tokenizer_config.json, special_tokens_map.json, added_tokens.json and chat_template.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "load/json.h"
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

/// The settings in a tokenizer's configuration files. A setting that no file states is absent.
struct TokenizerSettings {
  std::string file;  ///< name of the file for error messages
  std::optional<std::string> tokenizer_class;
  std::optional<AddedToken> bos, eos, unknown, padding, cls, sep, mask;
  std::optional<bool> add_bos, add_eos;
  std::optional<bool> lowercase, strip_accents, space_cjk;  ///< normalisation steps of BERT
  std::vector<AddedToken> added;    ///< tokens of added_tokens_decoder, with ids
  std::vector<AddedToken> special;  ///< tokens of additional_special_tokens
  TemplateSet templates;
};

/// Reads tokenizer_config.json or special_tokens_map.json. Ignores unknown members.
///
/// Errors: model_error(file, "tokenizer config", reason) that names the member.
TokenizerSettings read_tokenizer_settings(const Json& root, const std::string& file);

/// Sets each setting that is absent in `settings` to its value in `more`. All templates together
/// are one setting.
void complete_settings(TokenizerSettings& settings, TokenizerSettings more);

/// Returns the default tokens of a tokenizer class ("GPT2Tokenizer"); nothing for an unknown class.
///
/// Source:  Hugging Face's transformers.
std::optional<TokenizerSettings> class_defaults(std::string_view tokenizer_class);

/// Applies `settings` to `data`: added tokens, BOS and EOS, chat templates. Looks up a token
/// without an id by its text; skips it with a warning if the vocabulary does not have the text.
///
/// Errors: model_error(settings.file, "tokenizer config", reason) for tokens that contradict the
/// vocabulary.
void apply_settings(TokenizerData& data, const TokenizerSettings& settings);

/// Adds the tokens of added_tokens.json to `settings`. This older format is {"<text>": id}.
///
/// Errors: those of `read_tokenizer_settings`.
void read_legacy_added(const Json& root, const std::string& file, TokenizerSettings& settings);

/// Adds the chat template of a chat_template.json to `settings`.
///
/// Errors: those of `read_tokenizer_settings`.
void read_chat_template(const Json& root, const std::string& file, TokenizerSettings& settings);

}  // namespace ingot
