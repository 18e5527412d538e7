// ModelName: parses names of models on the Hugging Face hub, REPO[@REVISION][:FILE].
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot {

/// A model on the hub as a user names it.
struct ModelName {
  std::string repo;               ///< "user/name", or "name" alone
  std::string revision = "main";  ///< branch, tag or commit
  std::string file;               ///< quantisation, or path in the repository; empty: not given
};

/// Parses a name. Returns nothing if `text` is not a valid name.
std::optional<ModelName> parse_model_name(std::string_view text);

/// Formats the name as REPO[@REVISION][:FILE].
std::string to_string(const ModelName& name);

/// Returns whether `text` is a valid repository name: one or two parts of up to 96 letters, digits,
/// '-', '_' and '.'. No part may begin or end with '-' or '.', or contain "--" or "..".
///
/// Source: huggingface_hub, validate_repo_id.
bool is_repo_name(std::string_view text);

/// Returns whether `text` can be a branch, tag or commit, and is a safe path in the cache's folder
/// `refs`.
bool is_revision(std::string_view text);

/// Returns whether `text` is a commit: a SHA-1 in lower-case hexadecimal digits.
bool is_commit(std::string_view text);

/// Returns whether `text` is a path that stays inside a repository: up to 8 parts of printable
/// UTF-8, separated by '/'. A part may not be empty, "." or "..", or contain '\\'.
bool is_repo_path(std::string_view text);

}  // namespace ingot
