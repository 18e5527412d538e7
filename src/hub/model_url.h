// Reads names of hub models as users have them: also addresses of the hub's pages and files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hub/model_name.h"

namespace ingot {

/// Reads a model's name or address. Returns nothing if `text` is neither. Accepts:
///
///   REPO[@REVISION][:FILE]              as parse_model_name
///   [https://]HOST/REPO[...]            the same behind a host: "hf.co/user/name:Q4_K_M"
///   .../REPO/tree/REVISION[/FOLDER][:FILE], .../REPO/commit/REVISION
///   .../REPO/resolve/REVISION/FILE, and blob or raw instead of resolve
///
/// HOST is huggingface.co, hf.co, or the host of `endpoint`, the address of the hub. Ignores a
/// query, a fragment and slashes at the end; but the query show_file_info=FILE names a file. The
/// address of a safetensors file means the model that it belongs to.
///
/// Errors: Error{kInvalid} with the reason, for an address that is not a model's.
/// Source: the hub's web pages; huggingface_hub, hf_hub_url.
std::optional<ModelName> read_model_name(std::string_view text, std::string_view endpoint);

}  // namespace ingot
