// ModelName: names of models on the Hugging Face hub, REPO[@REVISION][:FILE].
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// A model on the hub as a user names it.
struct ModelName {
  std::string repo;               ///< "user/name", or "name" alone
  std::string revision = "main";  ///< branch, tag or commit
  std::string file;               ///< path or quantisation in the repository; empty: not given
};

/// Reads a name; nothing for a text that cannot be one.
std::optional<ModelName> parse_model_name(std::string_view text);

/// The name as a user types it.
std::string to_string(const ModelName& name);

/// Whether the hub could have a repository of this name: one or two parts of at most 96 letters,
/// digits, '-', '_' and '.', none of which begins or ends with '-' or '.', without "--" and "..".
///
/// Source: huggingface_hub, validate_repo_id.
bool is_repo_name(std::string_view text);

/// Whether `text` can be a branch, tag or commit and is safe as a path below the cache's folder of
/// references.
bool is_revision(std::string_view text);

/// Whether `text` is a commit: a SHA-1 in lower-case hexadecimal digits.
bool is_commit(std::string_view text);

/// Whether `text` is a path that stays inside a repository: at most 8 parts of printable UTF-8
/// between '/', none of them empty, "." or "..", without '\\'.
bool is_repo_path(std::string_view text);

}  // namespace ingot
