// Owning handles of PCRE2's objects, for the files that run its expressions.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>
#include <string>

#include "base/index.h"

namespace ingot {

/// Frees an object of PCRE2 with the function `Free`.
template <auto Free>
struct Pcre2Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Pcre2Code = std::unique_ptr<pcre2_code, Pcre2Freed<pcre2_code_free>>;
using Pcre2CompileContext =
    std::unique_ptr<pcre2_compile_context, Pcre2Freed<pcre2_compile_context_free>>;
using Pcre2MatchContext =
    std::unique_ptr<pcre2_match_context, Pcre2Freed<pcre2_match_context_free>>;
using Pcre2MatchData = std::unique_ptr<pcre2_match_data, Pcre2Freed<pcre2_match_data_free>>;

/// Returns PCRE2's text for an error code.
inline std::string pcre2_text(int code) {
  std::string text(128, '\0');
  const int size =
      pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(text.data()), text.size());
  text.resize(size > 0 ? to_size(size) : 0);
  return text;
}

}  // namespace ingot
