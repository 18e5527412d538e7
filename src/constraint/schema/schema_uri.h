// URIs of JSON Schema: resolves references against a base.
#pragma once

#include <string>
#include <string_view>

namespace ingot::schema {

/// A reference without its fragment, and the fragment with %xx decoded.
struct SplitUri {
  std::string uri;
  std::string fragment;
};

/// Returns `reference` resolved against `base`. Either may be empty or relative.
///
/// Source: RFC 3986, section 5.2.
SplitUri resolve_uri(std::string_view base, std::string_view reference);

}  // namespace ingot::schema
