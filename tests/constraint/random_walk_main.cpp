// Writes documents at random that a compiled JSON Schema allows, byte by byte.
//
// usage: random_walk WALKS SEED [strict] < LINES
// Each line is {"schema": ...}. For each, it prints {"error": text}, or {"notes": [text],
// "documents": [text], "cut": number, "stuck": number}. Cut walks were too long; a stuck walk met a
// dead end, which is a fault.
#include <array>
#include <iostream>
#include <random>

#include "base/error.h"
#include "constraint/schema/schema_search_test_util.h"

namespace ingot {
namespace {

constexpr std::size_t kBytesMax = 6000;
/// From here on, a walk prefers bytes that end values.
constexpr std::size_t kBytesUntilHurry = 300;

struct Walk {
  std::string text;
  bool is_complete = false;
  bool is_stuck = false;
};

bool is_allowed(std::span<const std::uint32_t> mask, std::uint32_t id) {
  return (mask[id / 32] >> (id % 32) & 1U) != 0;
}

/// Chooses an allowed byte, most often a readable one; in a hurry, one that ends a value.
int choose(std::span<const std::uint32_t> mask, bool is_hurried, std::mt19937& random) {
  static constexpr std::string_view kEnds = "\"}]0";
  if (is_hurried || random() % 8 == 0) {
    for (const char end : kEnds) {
      const auto id = static_cast<std::uint8_t>(end);
      if (is_allowed(mask, id) && random() % 8 != 0) return id;
    }
  }
  std::vector<int> readable, all;
  for (std::uint32_t id = 0; id < 256; ++id) {
    if (!is_allowed(mask, id)) continue;
    all.push_back(static_cast<int>(id));
    if (id < 0x7F && id != '\\') readable.push_back(static_cast<int>(id));
  }
  if (all.empty()) return -1;
  const std::vector<int>& from = readable.empty() || random() % 16 == 0 ? all : readable;
  return from[random() % from.size()];
}

Walk walk(const std::shared_ptr<const MatcherGrammar>& grammar, std::mt19937& random) {
  Walk walk;
  Matcher matcher(grammar);
  while (walk.text.size() < kBytesMax) {
    const bool is_hurried = walk.text.size() > kBytesUntilHurry;
    if (matcher.is_complete() && (!matcher.may_continue() || is_hurried || random() % 4 == 0)) {
      walk.is_complete = true;
      return walk;
    }
    const int next = choose(matcher.mask(), is_hurried, random);
    if (next < 0 || !matcher.accept(next)) {
      walk.is_stuck = true;
      return walk;
    }
    walk.text += static_cast<char>(next);
  }
  return walk;
}

Json walk_schema(const std::string& line, int walks, std::mt19937& random, bool is_strict,
                 const std::shared_ptr<const TokenTrie>& trie) {
  Json out = Json::object();
  try {
    const Json input = parse_line(line);
    std::vector<SchemaNote> notes;
    const auto grammar = compile_schema(*input.find("schema"), is_strict, trie, notes);
    Json documents = Json::array();
    int cut = 0, stuck = 0;
    for (int i = 0; i < walks; ++i) {
      Walk next = walk(grammar, random);
      cut += !next.is_complete && !next.is_stuck ? 1 : 0;
      stuck += next.is_stuck ? 1 : 0;
      if (next.is_stuck) out.set("stuck_at", next.text);
      if (next.is_complete) documents.push(std::move(next.text));
    }
    out.set("notes", notes_json(notes));
    out.set("documents", std::move(documents));
    out.set("cut", cut);
    out.set("stuck", stuck);
  } catch (const Error& error) {
    out = Json::object();
    out.set("error", error.message());
  }
  return out;
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: random_walk WALKS SEED [strict] < LINES\n";
    return 2;
  }
  const int walks = std::stoi(argv[1]);
  std::mt19937 random(static_cast<std::uint32_t>(std::stoul(argv[2])));
  const bool is_strict = argc > 3 && std::string(argv[3]) == "strict";
  const auto trie = ingot::byte_vocabulary();
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << ingot::walk_schema(line, walks, random, is_strict, trie).dump() << "\n"
              << std::flush;
  }
  return 0;
}
