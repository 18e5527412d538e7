// Writes documents at random that a compiled JSON Schema allows, token by token.
//
// usage: random_walk WALKS SEED [TOKENS FILE...] < LINES
// The first TOKENS tokens of a tokenizer's FILES are the vocabulary; without them, it is the bytes.
// Each line is {"schema": ...}. For each, it prints {"error": text}, or {"notes": [text],
// "documents": [text], "cut": number, "stuck": number}. Cut walks were too long; a stuck walk met a
// dead end, which is a fault.
#include <algorithm>
#include <array>
#include <iostream>
#include <random>

#include "base/error.h"
#include "constraint/schema/schema_search_test_util.h"
#include "load/tokenizer/tokenizer_files.h"
#include "text/chat/constraint_tokens.h"
#include "text/tokenizer/tokenizer.h"

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

/// A vocabulary, and the tokens that a walk prefers.
struct Vocabulary {
  explicit Vocabulary(std::shared_ptr<const TokenTrie> tokens) : trie(std::move(tokens)) {
    ends.fill(-1);
    for (std::int32_t id = 0; id < trie->ids(); ++id) {
      const std::string_view bytes = trie->bytes(id);
      is_readable.push_back(std::all_of(bytes.begin(), bytes.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x7F && c != '\\';
      }));
      if (bytes.size() != 1) continue;
      const std::size_t end = kEnds.find(bytes[0]);
      if (end != std::string_view::npos) ends[end] = id;
    }
  }

  static constexpr std::string_view kEnds = "\"}]0";
  std::shared_ptr<const TokenTrie> trie;
  std::array<std::int32_t, 4> ends{};
  std::vector<bool> is_readable;
};

/// Returns the first allowed token at or behind a random one, -1 if there is none.
int allowed_token(std::span<const std::uint32_t> mask, std::uint32_t ids, std::mt19937& random) {
  const std::uint32_t first = static_cast<std::uint32_t>(random()) % ids;
  for (std::uint32_t i = 0; i < ids; ++i) {
    const std::uint32_t id = (first + i) % ids;
    if (mask[id / 32] == 0 && id % 32 == 0 && i + 32 < ids && id + 32 <= ids) {
      i += 31;
    } else if (is_allowed(mask, id)) {
      return static_cast<int>(id);
    }
  }
  return -1;
}

/// Chooses an allowed token, most often a readable one; in a hurry, one that ends a value.
int choose(std::span<const std::uint32_t> mask, const Vocabulary& vocabulary, bool is_hurried,
           std::mt19937& random) {
  if (is_hurried || random() % 8 == 0) {
    for (const std::int32_t end : vocabulary.ends) {
      if (end < 0 || !is_allowed(mask, static_cast<std::uint32_t>(end))) continue;
      if (random() % 8 != 0) return end;
    }
  }
  const auto ids = static_cast<std::uint32_t>(vocabulary.trie->ids());
  int token = allowed_token(mask, ids, random);
  for (int i = 0; i < 8 && token >= 0 && random() % 16 != 0; ++i) {
    if (vocabulary.is_readable[static_cast<std::size_t>(token)]) break;
    token = allowed_token(mask, ids, random);
  }
  return token;
}

Walk walk(const std::shared_ptr<const MatcherGrammar>& grammar, const Vocabulary& vocabulary,
          std::mt19937& random) {
  Walk walk;
  Matcher matcher(grammar);
  while (walk.text.size() < kBytesMax) {
    const bool is_hurried = walk.text.size() > kBytesUntilHurry;
    if (matcher.is_complete() && (!matcher.may_continue() || is_hurried || random() % 4 == 0)) {
      walk.is_complete = true;
      return walk;
    }
    const int next = choose(matcher.mask(), vocabulary, is_hurried, random);
    if (next < 0 || !matcher.accept(next)) {
      walk.is_stuck = true;
      return walk;
    }
    walk.text += vocabulary.trie->bytes(next);
  }
  return walk;
}

Json walk_schema(const std::string& line, int walks, std::mt19937& random,
                 const Vocabulary& vocabulary) {
  Json out = Json::object();
  try {
    const Json input = parse_line(line);
    std::vector<SchemaNote> notes;
    const auto grammar = compile_schema(*input.find("schema"), false, vocabulary.trie, notes);
    Json documents = Json::array();
    int cut = 0, stuck = 0;
    for (int i = 0; i < walks; ++i) {
      Walk next = walk(grammar, vocabulary, random);
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

std::shared_ptr<const TokenTrie> read_vocabulary(std::int32_t tokens,
                                                 std::span<const std::string> files) {
  std::vector<std::string> warnings;
  const auto tokenizer = make_tokenizer(read_tokenizer_files(files), warnings);
  return make_token_trie(*tokenizer, std::min(tokens, tokenizer->size()), {});
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: random_walk WALKS SEED [TOKENS FILE...] < LINES\n";
    return 2;
  }
  const int walks = std::stoi(argv[1]);
  std::mt19937 random(static_cast<std::uint32_t>(std::stoul(argv[2])));
  const std::vector<std::string> files(argv + std::min(argc, 4), argv + argc);
  const ingot::Vocabulary vocabulary(
      files.empty() ? ingot::byte_vocabulary() : ingot::read_vocabulary(std::stoi(argv[3]), files));
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << ingot::walk_schema(line, walks, random, vocabulary).dump() << "\n" << std::flush;
  }
  return 0;
}
