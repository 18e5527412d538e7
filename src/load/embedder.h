// EmbedderSettings: how an embedding model or cross-encoder expects its texts: prompts and lengths.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot {

/// A text that stands before each text of one use, such as "query".
struct EmbedderPrompt {
  std::string name;
  std::string text;

  bool operator==(const EmbedderPrompt&) const = default;
};

/// What a sentence-transformers folder says about texts. Other models have the defaults.
struct EmbedderSettings {
  std::vector<EmbedderPrompt> prompts;  ///< in the file's order, no name twice
  std::string default_prompt;           ///< name of one of `prompts`; empty: none
  std::int64_t max_tokens = 0;          ///< longest text in tokens; 0: the model's context
  bool lower_case = false;              ///< texts become lower case before they become tokens
  /// Cross-encoder with one label: whether a score is the sigmoid of the logit, else the logit.
  bool sigmoid_scores = true;

  bool operator==(const EmbedderSettings&) const = default;
};

}  // namespace ingot
