// Keywords of JSON Schema: which drafts have which, and what they look at.
#pragma once

#include <string_view>

#include "constraint/schema/schema_document.h"

namespace ingot::schema {

/// What a keyword does.
enum class KeywordUse {
  kNone,        ///< an annotation, or unknown in this draft
  kAssertion,   ///< restricts values of one type
  kApplicator,  ///< applies subschemas or constants to the same value
};

/// Returns what `keyword` does in `draft`.
KeywordUse keyword_use(std::string_view keyword, Draft draft);

}  // namespace ingot::schema
