// Judges the JSON Schema compiler: says which documents a compiled schema accepts.
//
// usage: schema_judge [strict] < LINES
// Each line is {"schema": ..., "tests": [{"data": ..., "valid": ...}]}. For each, it prints a line
// {"error": text, "ms": number}, or {"notes": [text], "accepted": [true, false or null], "ms":
// number}. null: the search for the order of members took too long. ms: processor time to compile.
#include <time.h>

#include <iostream>

#include "base/error.h"
#include "constraint/schema/schema_search_test_util.h"

namespace ingot {
namespace {

double processor_ms() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

Json judge(const std::string& line, bool is_strict, const std::shared_ptr<const TokenTrie>& trie) {
  Json out = Json::object();
  double start = processor_ms();
  const auto stop = [&] { out.set("ms", processor_ms() - start); };
  try {
    const Json input = parse_line(line);
    std::vector<SchemaNote> notes;
    const Json& schema = *input.find("schema");
    start = processor_ms();
    const auto grammar = compile_schema(schema, is_strict, trie, notes);
    stop();
    SchemaSearch search(grammar, schema);
    Json accepted = Json::array();
    for (const Json& test : *input.find("tests")->as_array()) {
      // The order of a valid document's members is worth a longer search.
      const std::int64_t tries = *test.find("valid")->as_bool() ? 30'000 : 2'000;
      const SchemaSearch::Outcome outcome = search.search(*test.find("data"), tries);
      const bool is_known = outcome != SchemaSearch::Outcome::kGaveUp;
      accepted.push(is_known ? Json(outcome == SchemaSearch::Outcome::kAccepted) : Json());
    }
    out.set("notes", notes_json(notes));
    out.set("accepted", std::move(accepted));
  } catch (const Error& error) {
    out = Json::object();
    out.set("error", error.message());
    stop();
  }
  return out;
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  const bool is_strict = argc > 1 && std::string(argv[1]) == "strict";
  const auto trie = ingot::byte_vocabulary();
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << ingot::judge(line, is_strict, trie).dump() << "\n" << std::flush;
  }
  return 0;
}
