// Keywords of JSON Schema: one table.
#include "constraint/schema/schema_keywords.h"

#include <algorithm>
#include <array>

namespace ingot::schema {
namespace {

struct Keyword {
  std::string_view name;
  KeywordUse use;
  Draft first = Draft::k4;    ///< the first draft that has it
  Draft last = Draft::k2020;  ///< the last draft that has it
};

constexpr auto kAssertion = KeywordUse::kAssertion;
constexpr auto kApplicator = KeywordUse::kApplicator;

constexpr std::array kKeywords = {
    Keyword{"type", kAssertion},
    Keyword{"minimum", kAssertion},
    Keyword{"maximum", kAssertion},
    Keyword{"exclusiveMinimum", kAssertion},
    Keyword{"exclusiveMaximum", kAssertion},
    Keyword{"multipleOf", kAssertion},
    Keyword{"minLength", kAssertion},
    Keyword{"maxLength", kAssertion},
    Keyword{"pattern", kAssertion},
    Keyword{"format", kAssertion},
    Keyword{"prefixItems", kAssertion, Draft::k2020},
    Keyword{"items", kAssertion},
    Keyword{"additionalItems", kAssertion, Draft::k4, Draft::k2019},
    Keyword{"minItems", kAssertion},
    Keyword{"maxItems", kAssertion},
    Keyword{"uniqueItems", kAssertion},
    Keyword{"contains", kAssertion, Draft::k6},
    Keyword{"minContains", kAssertion, Draft::k2019},
    Keyword{"maxContains", kAssertion, Draft::k2019},
    Keyword{"properties", kAssertion},
    Keyword{"patternProperties", kAssertion},
    Keyword{"additionalProperties", kAssertion},
    Keyword{"propertyNames", kAssertion, Draft::k6},
    Keyword{"required", kAssertion},
    Keyword{"minProperties", kAssertion},
    Keyword{"maxProperties", kAssertion},
    Keyword{"dependentRequired", kAssertion, Draft::k2019},
    Keyword{"dependencies", kApplicator},
    Keyword{"dependentSchemas", kApplicator, Draft::k2019},
    Keyword{"$ref", kApplicator},
    Keyword{"$dynamicRef", kApplicator, Draft::k2020},
    Keyword{"$recursiveRef", kApplicator, Draft::k2019, Draft::k2019},
    Keyword{"allOf", kApplicator},
    Keyword{"anyOf", kApplicator},
    Keyword{"oneOf", kApplicator},
    Keyword{"not", kApplicator},
    Keyword{"if", kApplicator, Draft::k7},
    Keyword{"then", kApplicator, Draft::k7},
    Keyword{"else", kApplicator, Draft::k7},
    Keyword{"enum", kApplicator},
    Keyword{"const", kApplicator, Draft::k6},
    Keyword{"unevaluatedItems", kApplicator, Draft::k2019},
    Keyword{"unevaluatedProperties", kApplicator, Draft::k2019},
};

}  // namespace

KeywordUse keyword_use(std::string_view keyword, Draft draft) {
  const auto found = std::find_if(kKeywords.begin(), kKeywords.end(),
                                  [&](const Keyword& entry) { return entry.name == keyword; });
  if (found == kKeywords.end()) return KeywordUse::kNone;
  const bool is_known = draft == Draft::kAny || (draft >= found->first && draft <= found->last);
  return is_known ? found->use : KeywordUse::kNone;
}

}  // namespace ingot::schema
