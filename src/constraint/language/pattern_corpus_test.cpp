// Compiles the patterns of real schemas and compares them with PCRE2 on many texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/index.h"
#include "base/shared_data_test_util.h"
#include "base/text.h"
#include "constraint/language/language_test_util.h"
#include "constraint/language/pattern.h"
#include "constraint/language/pcre_test_util.h"
#include "load/json.h"

namespace ingot {
namespace {

/// The patterns of the corpus, and texts from its documents.
struct Corpus {
  std::set<std::string> patterns;
  std::vector<std::string> texts;
};

void collect(const Json& json, bool is_schema, Corpus& corpus) {
  if (const std::string* text = json.as_string(); text && !is_schema && text->size() < 80) {
    corpus.texts.push_back(*text);
  }
  if (const Json::Array* array = json.as_array()) {
    for (const Json& element : *array) collect(element, is_schema, corpus);
  }
  if (const Json::Object* object = json.as_object()) {
    for (const auto& [key, value] : *object) {
      if (is_schema && key == "pattern" && value.as_string()) {
        corpus.patterns.insert(*value.as_string());
      }
      if (is_schema && key == "patternProperties" && value.as_object()) {
        for (const auto& [pattern, schema] : *value.as_object()) corpus.patterns.insert(pattern);
      }
      collect(value, is_schema, corpus);
    }
  }
}

Corpus read_corpus() {
  Corpus corpus;
  std::ifstream file(shared_folder("data/json/maskbench") / "sample.jsonl");
  for (std::string line; std::getline(file, line);) {
    const Json entry = parse_json(line, "sample.jsonl", "line");
    if (const Json* schema = entry.find("schema")) collect(*schema, true, corpus);
    if (const Json* tests = entry.find("tests")) collect(*tests, false, corpus);
  }
  return corpus;
}

/// Compares a language with PCRE2 on texts of the language, their mutations, and texts of
/// documents.
void compare(const TextDfa& dfa, const std::string& pattern, const Corpus& corpus,
             std::mt19937_64& random) {
  const Pcre pcre(for_pcre(pattern));
  ASSERT_TRUE(pcre.is_valid()) << pattern;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 16 && !dfa.is_empty(); ++i) {
    texts.push_back(random_text(dfa, 2 * i, random));
    for (int k = 0; k < 2; ++k) texts.push_back(mutated(texts.back(), random));
  }
  for (int i = 0; i < 40; ++i) texts.push_back(corpus.texts[below(random, corpus.texts.size())]);
  for (const std::string& text : texts) {
    const int expected = pcre.matches(text);
    if (expected < 0) continue;
    ASSERT_EQ(dfa.contains(text), expected == 1) << pattern << "\n text: " << text;
  }
}

TEST(PatternCorpus, AgreesWithPcre) {
  INGOT_NEEDS_SHARED("data/json/maskbench");
  const Corpus corpus = read_corpus();
  ASSERT_GT(corpus.patterns.size(), 500U);
  std::mt19937_64 random(1);
  std::vector<std::string> refused;
  for (const std::string& pattern : corpus.patterns) {
    try {
      CompileBudget budget;
      compare(compile_pattern(pattern, Anchoring::kSearch, budget), pattern, corpus, random);
    } catch (const Error& error) {
      refused.push_back(cat(pattern, " ", error.message()));
    }
  }
  EXPECT_LE(refused.size() * 100, corpus.patterns.size()) << testing::PrintToString(refused);
}

}  // namespace
}  // namespace ingot
