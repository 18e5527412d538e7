// Matchers: escapes, lengths, repeated keys and items, markers, small vocabularies, long texts.
#include "constraint/matcher.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/index.h"

namespace ingot {
namespace {

using Trie = std::shared_ptr<const TokenTrie>;

Trie make_trie(const std::vector<std::string>& tokens, std::size_t markers = 0) {
  return std::make_shared<const TokenTrie>(
      static_cast<std::int32_t>(tokens.size()), [&](std::int32_t id) {
        const auto at = static_cast<std::size_t>(id);
        const bool is_marker = at + markers >= tokens.size();
        return TokenTrie::Token{tokens[at], is_marker ? TokenUse::kMarker : TokenUse::kText};
      });
}

std::vector<std::string> all_bytes() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  return tokens;
}

/// All bytes, and all texts of up to four of a few characters, one of which has two bytes.
Trie dense_trie() {
  static const Trie made = [] {
    std::vector<std::string> tokens = all_bytes();
    std::vector<std::string> level{""};
    for (int size = 1; size <= 4; ++size) {
      std::vector<std::string> next;
      for (const std::string& text : level) {
        for (const char* c : {"a", "b", "\"", ",", ":", "1", "\\", "u0061", "\u00e9"}) {
          next.push_back(text + c);
          if (next.back().size() > 1) tokens.push_back(next.back());
        }
      }
      level = std::move(next);
    }
    for (const char* text :
         {"a\",\"a\"", "b\",\"a\"", "a\",\"b\"", "a\":1,\"a\"", "b\":1,\"b\":"}) {
      tokens.emplace_back(text);
    }
    return make_trie(tokens);
  }();
  return made;
}

/// A grammar in the making.
struct Maker {
  Grammar grammar{};
  CompileBudget budget{};

  Maker() { grammar.space = JsonSpace::kNone; }
  NodeId literal(std::string_view text) { return grammar.literal(text, budget); }
  std::uint32_t any_of(const std::vector<std::string>& texts) {
    return grammar.add_language(TextDfa::any_of(texts, budget));
  }
  std::uint32_t all() { return grammar.add_language(TextDfa::all(budget)); }
  Matcher finish(NodeId root, const Trie& trie) {
    grammar.set_root(root);
    return Matcher(make_matcher_grammar(grammar, trie, budget));
  }
};

bool takes(Matcher matcher, std::string_view text) {
  return matcher.accept_bytes(text) && matcher.is_complete();
}

bool begins(Matcher matcher, std::string_view text) { return matcher.accept_bytes(text); }

/// Compares the mask behind each of some texts with what `accept` says of every token.
void check_masks(const Matcher& begin, const Trie& trie, const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    Matcher matcher = begin;
    ASSERT_TRUE(matcher.accept_bytes(prefix)) << prefix;
    const auto span = matcher.mask();
    const std::vector<std::uint32_t> mask(span.begin(), span.end());
    for (std::int32_t id = 0; id < trie->ids(); ++id) {
      const bool is_allowed = (mask[static_cast<std::size_t>(id) / 32] >> (id % 32) & 1) != 0;
      const bool is_taken = matcher.accept(id);
      if (is_taken) matcher.truncate(1);
      ASSERT_EQ(is_allowed, is_taken) << prefix << " + " << trie->bytes(id);
    }
  }
}

TEST(Matcher, ReadsEscapesOfStrings) {
  Maker make;
  const NodeId root =
      make.grammar.add(grammar::String{make.any_of({"a", "\u00e9", "\U0001F600", "\n", "\"/\\"})});
  const Matcher matcher = make.finish(root, make_trie(all_bytes()));
  for (const char* text :
       {"\"a\"", "\"\u00e9\"", "\"\\u00E9\"", "\"\\u00e9\"", "\"\U0001F600\"", "\"\\ud83d\\uDE00\"",
        "\"\\n\"", "\"\\u000a\"", "\"\\\"/\\\\\"", "\"\\u0022/\\u005c\""}) {
    EXPECT_TRUE(takes(matcher, text)) << text;
  }
  for (const char* text : {"\"b",         "\"\\u0062",        "\"\\u006",       "\"\\u0061",
                           "\"\\\"\\/",   "\"\\u01",          "\"\n",           "\"\\x",
                           "\"\\ud83d\"", "\"\\ud83da",       "\"\\ud83d\\ud7", "\"\\ude00",
                           "\"\\ud83e",   "\"\\ud83d\\ude01", "\"\xC3\x28",     "\"\xC0",
                           "\"\xED\xA0",  "\"\xF0\x9F\x99",   "\"\"",           "a"}) {
    EXPECT_FALSE(begins(matcher, text)) << text;
  }
  for (const char* text : {"\"\\", "\"\\u", "\"\\u00", "\"\\ud83d", "\"\\ud83d\\",
                           "\"\\ud83d\\ude0", "\"\xC3", "\"\xF0\x9F"}) {
    EXPECT_TRUE(begins(matcher, text)) << text;
    EXPECT_FALSE(takes(matcher, text)) << text;
  }
}

TEST(Matcher, NamesHaveOnlyTheEscapesThatTheyNeed) {
  Maker make;
  grammar::Object object;
  object.properties.push_back({.name = "a\n", .value = make.literal("1")});
  const Matcher matcher = make.finish(make.grammar.add(object), dense_trie());
  for (const char* text : {"{\"\\", "{\"a\\u006", "{\"a\\/"}) {
    EXPECT_FALSE(begins(matcher, text)) << text;
  }
  EXPECT_TRUE(takes(matcher, "{\"a\\n\":1}"));
  EXPECT_TRUE(takes(matcher, "{\"a\\u000a\":1}"));
  check_masks(matcher, dense_trie(), {"{\"", "{\"a", "{\"a\\", "{\"a\\u00"});

  // Without the token a, only an escape spells it.
  std::vector<std::string> tokens = all_bytes();
  tokens['a'] = "ab";
  Maker word;
  const NodeId text = word.grammar.add(grammar::String{word.any_of({"a"})});
  EXPECT_TRUE(takes(word.finish(text, make_trie(tokens)), "\"\\u0061\""));
}

TEST(Matcher, NestedAlternativesAddUp) {
  // Each level may be one of twenty objects: twenty to the power of the depth, if they multiplied.
  Maker make;
  grammar::Choice choice;
  const NodeId value = make.grammar.add(choice);
  for (int i = 0; i < 20; ++i) {
    grammar::Object object;
    object.properties = {{"a", value, false},
                         {std::string(1, static_cast<char>('b' + i)), make.literal("1"), false}};
    choice.alternatives.push_back(make.grammar.add(object));
  }
  make.grammar.set(value, choice);
  Matcher matcher = make.finish(value, make_trie(all_bytes()));
  std::string text, end;
  for (int depth = 0; depth < 30; ++depth) {
    text += "{\"a\":";
    end += std::string(",\"") + static_cast<char>('b' + depth % 20) + "\":1}";
  }
  ASSERT_TRUE(matcher.accept_bytes(text + "{\"c\":1}"));
  EXPECT_FALSE(begins(matcher, ",\"a\""));
  EXPECT_FALSE(begins(matcher, "{"));
  ASSERT_TRUE(matcher.accept_bytes(end));
  EXPECT_TRUE(matcher.is_complete());
  EXPECT_EQ(matcher.dropped(), 0);
  matcher.truncate(1);
  EXPECT_TRUE(takes(matcher, std::string(30, '}')));
}

/// Expects a matcher to take each token that it allows.
void expect_takes_mask(Matcher& matcher, std::int32_t ids) {
  const auto mask = matcher.mask();
  const std::vector<std::uint32_t> bits(mask.begin(), mask.end());
  for (std::int32_t id = 0; id < ids; ++id) {
    if ((at(bits, id / 32) >> (id % 32) & 1) == 0) continue;
    Matcher next = matcher;
    EXPECT_TRUE(next.accept(id)) << "token " << id;
  }
}

TEST(Matcher, TokensOfManyAlternativesAreFound) {
  // Behind n bytes, a text has 2^n ways to continue in the first grammar, and 256^n in the second.
  std::vector<std::string> tokens = all_bytes();
  for (std::size_t n = 2; n <= 96; ++n) tokens.emplace_back(n, '-');
  for (std::size_t n = 2; n <= 8; ++n) tokens.emplace_back(n, '[');
  const auto ids = static_cast<std::int32_t>(tokens.size());
  Maker runs;
  const NodeId run = runs.grammar.reserve();
  const auto level = [&](std::string_view end) {
    return runs.grammar.sequence({runs.literal("-"), run, runs.literal(end)});
  };
  runs.grammar.set(run, grammar::Choice{{level("b"), level("c"), runs.literal("d")}});
  Matcher matcher = runs.finish(run, make_trie(tokens));
  expect_takes_mask(matcher, ids);
  ASSERT_TRUE(matcher.accept_bytes(std::string(96, '-')));
  expect_takes_mask(matcher, ids);
  EXPECT_TRUE(takes(matcher, "d" + std::string(96, 'c')));

  Maker arrays;
  const NodeId array = arrays.grammar.reserve();
  grammar::Choice choice;
  for (std::uint64_t count = 1; count <= 256; ++count) {
    grammar::Array one;
    one.count_max = count;
    one.rest.value = array;
    choice.alternatives.push_back(arrays.grammar.add(one));
  }
  arrays.grammar.set(array, choice);
  matcher = arrays.finish(array, make_trie(tokens));
  ASSERT_TRUE(matcher.accept_bytes("["));
  expect_takes_mask(matcher, ids);
  EXPECT_TRUE(takes(matcher, "[[],[]],[]]"));
}

TEST(Matcher, CountsDecodedCharacters) {
  Maker make;
  const NodeId root = make.grammar.add(grammar::String{.length_min = 2, .length_max = 3});
  const Matcher matcher = make.finish(root, dense_trie());
  EXPECT_TRUE(takes(matcher, "\"a\\u0061\u00e9\""));
  EXPECT_TRUE(takes(matcher, "\"\\ud83d\\ude00b\""));
  EXPECT_FALSE(begins(matcher, "\"a\""));
  EXPECT_FALSE(begins(matcher, "\"aaa\xC3"));
  EXPECT_FALSE(begins(matcher, "\"aaa\\"));
  check_masks(matcher, dense_trie(),
              {"", "\"", "\"a", "\"ab", "\"ab1", "\"ab\\", "\"a\xC3", "\"a\\u0"});
}

TEST(Matcher, CountsCharactersOfALanguage) {
  // Any text without ab, of three to five characters; b or 1 as often as it likes at the end of a.
  Maker make;
  const auto some =
      make.grammar.add_language(TextDfa::without(std::vector<std::string>{"ab"}, make.budget));
  const NodeId root =
      make.grammar.add(grammar::String{.language = some, .length_min = 3, .length_max = 5});
  const Matcher matcher = make.finish(root, dense_trie());
  EXPECT_TRUE(takes(matcher, "\"aaba\"") == false);
  EXPECT_TRUE(takes(matcher, "\"aa1b\""));
  check_masks(matcher, dense_trie(),
              {"", "\"", "\"a", "\"b1", "\"b1a", "\"b11a", "\"b111b", "\"b1\\", "\"b1\xC3"});
}

TEST(Matcher, MasksOfAFiniteLanguageWithLengths) {
  // a, then at most two characters, or b and any text.
  Maker make;
  const TextDfa all = TextDfa::all(make.budget);
  const TextDfa language =
      TextDfa::literal("a", make.budget)
          .followed_by(all.with_length(0, 2, make.budget), make.budget)
          .united(TextDfa::literal("b", make.budget).followed_by(all, make.budget), make.budget);
  const NodeId root = make.grammar.add(grammar::String{
      .language = make.grammar.add_language(language), .length_min = 2, .length_max = 4});
  const Matcher matcher = make.finish(root, dense_trie());
  EXPECT_FALSE(begins(matcher, "\"a\""));
  EXPECT_FALSE(begins(matcher, "\"a111"));
  EXPECT_TRUE(takes(matcher, "\"b111\""));
  check_masks(matcher, dense_trie(), {"", "\"", "\"a", "\"a1", "\"a11", "\"b", "\"b1", "\"b111"});
}

TEST(Matcher, MasksOfTextsThatAreRestrictedOnlyAtTheirBeginning) {
  // Texts that do not begin with b; the same of at least two characters.
  Maker maker;
  const TextDfa all = TextDfa::all(maker.budget);
  const TextDfa with_b = TextDfa::literal("b", maker.budget).followed_by(all, maker.budget);
  const TextDfa others = all.without_texts_of(with_b, maker.budget);
  for (const TextDfa& language :
       {others, others.with_length(2, TextDfa::kInfinite, maker.budget)}) {
    Maker one;
    const NodeId text = one.grammar.add(grammar::String{one.grammar.add_language(language)});
    check_masks(one.finish(text, dense_trie()), dense_trie(),
                {"", "\"", "\"a", "\"\u00e9", "\"a\\"});
  }
}

TEST(Matcher, ThreadsShareTheMasksOfAVocabulary) {
  std::vector<std::string> tokens = all_bytes();
  for (const char* text : {"ab", "a\"", "b1", "\",\"", "1b\""}) tokens.emplace_back(text);
  const Trie trie = make_trie(tokens);
  std::vector<Matcher> matchers;
  for (const char* first : {"a", "b", "1"}) {
    Maker make;
    const TextDfa all = TextDfa::all(make.budget);
    const TextDfa begun = TextDfa::literal(first, make.budget).followed_by(all, make.budget);
    const std::uint32_t others =
        make.grammar.add_language(all.without_texts_of(begun, make.budget));
    const NodeId text = make.grammar.add(grammar::String{others});
    matchers.push_back(make.finish(make.grammar.sequence({text, make.literal(","), text}), trie));
  }
  // The masks along a text of each grammar, found by one thread or by several at once.
  const auto masks_of = [&](std::size_t number) {
    std::vector<std::vector<std::uint32_t>> masks;
    Matcher matcher = matchers[number];
    for (const char byte : std::string_view("\"x\u00e9y\",\"z")) {
      if (!matcher.accept_bytes({&byte, 1})) break;
      const auto mask = matcher.mask();
      masks.emplace_back(mask.begin(), mask.end());
    }
    return masks;
  };
  constexpr std::size_t kThreads = 6;
  std::array<std::vector<std::vector<std::uint32_t>>, kThreads> found;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] { found[i] = masks_of(i % matchers.size()); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(found[i].size(), 9U);
    EXPECT_EQ(found[i], masks_of(i % matchers.size())) << i;
  }
}

TEST(Matcher, RemembersItems) {
  Maker make;
  grammar::Array array;
  array.is_unique = true;
  array.rest.value = make.grammar.add(grammar::String{});
  const Matcher matcher = make.finish(make.grammar.add(array), dense_trie());
  EXPECT_TRUE(takes(matcher, "[\"a\",\"b\",\"ab\"]"));
  EXPECT_FALSE(begins(matcher, "[\"a\",\"b\",\"a\""));
  EXPECT_FALSE(begins(matcher, "[\"a\",\"\\u0061\""));
  check_masks(matcher, dense_trie(),
              {"[", "[\"", "[\"a", "[\"a\",\"", "[\"a\",\"b\",\"", "[\"ab\",\"a", "[\"ab1\",\"a",
               "[\"a\u00e9\",\"a", "[\"a\u00e9\",\"a\xC3", "[\"a\",\"\\", "[\"a\",\"\\u006"});
}

TEST(Matcher, LeavesValuesForLaterItems) {
  Maker make;
  grammar::Array array;
  array.count_min = 3;
  array.is_unique = true;
  array.rest.value = make.grammar.add(grammar::String{make.any_of({"a", "b", "ab"})});
  const Matcher matcher = make.finish(make.grammar.add(array), dense_trie());
  EXPECT_TRUE(takes(matcher, "[\"ab\",\"a\",\"b\"]"));
  EXPECT_FALSE(begins(matcher, "[\"ab\",\"a\",\"b\","));
  EXPECT_FALSE(begins(matcher, "[\"ab\",\"a\",\"a"));
  EXPECT_FALSE(begins(matcher, "[\"b\",\"b"));
  array.count_min = 4;
  Maker more;
  array.rest.value = more.grammar.add(grammar::String{more.any_of({"a", "b", "ab"})});
  EXPECT_THROW(more.finish(more.grammar.add(array), dense_trie()), Error);
}

/// The kinds of items have a pool of values each.
TEST(Matcher, LeavesValuesOfBothKindsOfItems) {
  Maker make;
  grammar::Array array;
  array.count_min = 4;
  array.contained_min = 2;
  array.is_unique = true;
  array.rest.value = make.grammar.add(grammar::String{make.any_of({"a", "b", "ab"})});
  array.rest.counted = make.grammar.add(grammar::Terminal{make.any_of({"1", "11"})});
  const Matcher matcher = make.finish(make.grammar.add(array), dense_trie());
  EXPECT_TRUE(takes(matcher, "[1,\"ab\",11,\"a\"]"));
  EXPECT_TRUE(takes(matcher, "[\"ab\",\"a\",\"b\",11,1]"));
  EXPECT_FALSE(begins(matcher, "[\"ab\",\"a\",\"b\",11]"));
  EXPECT_FALSE(begins(matcher, "[1,\"ab\",11,\"a\",1"));
  EXPECT_FALSE(begins(matcher, "[1,11,\"a\",\"b\",\"ab\","));
  check_masks(matcher, dense_trie(),
              {"[", "[1", "[1,", "[1,11", "[1,11,\"a\"", "[1,11,\"a\",\"b\",\"ab\"", "[\"a\",1"});
}

/// Which values a later position has left depends on the text: such arrays are not narrowed.
TEST(Matcher, RefusesUniqueItemsThatShareFewValues) {
  const auto refuses = [](const std::vector<std::string>& first,
                          const std::vector<std::string>& rest, std::uint64_t count_max) {
    Maker make;
    grammar::Array array;
    array.is_unique = true;
    array.count_max = count_max;
    array.first = {{.value = make.grammar.add(grammar::String{make.any_of(first)})}};
    array.rest.value = make.grammar.add(grammar::String{make.any_of(rest)});
    try {
      make.finish(make.grammar.add(array), dense_trie());
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("cannot be enforced"), std::string::npos);
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refuses({"a", "b"}, {"a", "b"}, kUnlimited));
  EXPECT_TRUE(refuses({"a"}, {"a"}, 2));
  EXPECT_FALSE(refuses({"a"}, {"a"}, 1));
  EXPECT_FALSE(refuses({"a", "b"}, {"a", "b", "ab"}, 3));
  EXPECT_TRUE(refuses({"a", "b"}, {"a", "b", "ab"}, 4));
  EXPECT_FALSE(refuses({"a"}, {"b", "ab"}, kUnlimited));
}

/// Each object frame has a set of the properties, and each step looks at all of them.
TEST(Matcher, ObjectsWithManyProperties) {
  const auto object_of = [](std::uint32_t count, Maker& make) {
    grammar::Object object;
    object.any_order = true;
    const NodeId one = make.literal("1");
    for (std::uint32_t i = 0; i < count; ++i) {
      object.properties.push_back({"a" + std::to_string(i), one, false});
    }
    return object;
  };
  Maker many;
  Matcher matcher = many.finish(many.grammar.add(object_of(16'384, many)), dense_trie());
  ASSERT_TRUE(matcher.accept_bytes("{\"a0\":1"));
  for (int i = 16'000; i < 16'200; ++i) {
    ASSERT_TRUE(matcher.accept_bytes(",\"a" + std::to_string(i) + "\":1"));
  }
  EXPECT_FALSE(begins(matcher, ",\"a16100\""));
  EXPECT_TRUE(takes(matcher, "}"));
  Maker more;
  EXPECT_THROW(more.finish(more.grammar.add(object_of(16'385, more)), dense_trie()), Error);
  // A chain of dependencies: each property needs all before it, so that the work is superlinear.
  Maker chain;
  grammar::Object chained = object_of(8'000, chain);
  for (std::uint32_t i = 1; i < 8'000; ++i) chained.dependencies.emplace_back(i, i - 1);
  EXPECT_THROW(chain.finish(chain.grammar.add(chained), dense_trie()), Error);
}

/// An object whose other keys are `keys`, each with the value 1.
Matcher dictionary(const std::function<TextDfa(CompileBudget&)>& keys) {
  Maker make;
  grammar::Object object;
  object.properties = {{"ab", make.literal("1"), false}};
  object.other_keys = make.grammar.add_language(
      keys(make.budget).without_texts_of(TextDfa::literal("ab", make.budget), make.budget));
  object.other_values = {make.literal("1")};
  return make.finish(make.grammar.add(object), dense_trie());
}

TEST(Matcher, RemembersKeys) {
  const Matcher matcher = dictionary([](CompileBudget& budget) { return TextDfa::all(budget); });
  EXPECT_TRUE(takes(matcher, "{\"a\":1,\"b\":1}"));
  EXPECT_TRUE(takes(matcher, "{\"ab\":1,\"b\":1}"));
  EXPECT_FALSE(begins(matcher, "{\"b\":1,\"ab\""));
  EXPECT_FALSE(begins(matcher, "{\"b\":1,\"\\u0062\""));
  check_masks(matcher, dense_trie(),
              {"{", "{\"", "{\"a", "{\"a\":1,\"", "{\"a\":1,\"b\":1,\"", "{\"ab\":1,\"a",
               "{\"a1\":1,\"a", "{\"a\u00e9\":1,\"a", "{\"a\u00e9\":1,\"a\xC3", "{\"\\"});
}

TEST(Matcher, EntersOnlyKeysThatAreLeft) {
  const Matcher matcher = dictionary([](CompileBudget& budget) {
    // One character, or b and two more.
    const TextDfa all = TextDfa::all(budget);
    const TextDfa three =
        TextDfa::literal("b", budget).followed_by(all.with_length(2, 2, budget), budget);
    return all.with_length(1, 1, budget).united(three, budget);
  });
  EXPECT_FALSE(begins(matcher, "{\"a\":1,\"\\u0061"));
  EXPECT_FALSE(begins(matcher, "{\"1\":1,\"1"));
  EXPECT_TRUE(begins(matcher, "{\"b\":1,\"b"));
  check_masks(matcher, dense_trie(), {"{\"", "{\"a\":1,\"", "{\"a\":1,\"b\":1,\"", "{\"b\":1,\"b"});
}

TEST(Matcher, MasksOfRawTextBeforeOtherText) {
  Maker make;
  const auto text = make.grammar.add_language(
      TextDfa::without(std::vector<std::string>{"\u00e9", "1"}, make.budget));
  const NodeId root =
      make.grammar.sequence({make.grammar.add(grammar::Terminal{text}),
                             make.grammar.choice({make.literal("\u00e9a"), make.literal("1\"")})});
  const Matcher matcher = make.finish(root, dense_trie());
  EXPECT_TRUE(takes(matcher, "ab,\u00e9a"));
  EXPECT_TRUE(takes(matcher, "1\""));
  check_masks(matcher, dense_trie(), {"", "a", "ab,", "ab\xC3", "ab1", "ab\u00e9"});
}

TEST(Matcher, RefusesWhatItCannotWalk) {
  const auto message = [](const std::function<NodeId(Maker&)>& add) -> std::string {
    Maker make;
    try {
      make.finish(add(make), dense_trie());
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(message([](Maker& make) {
              const NodeId list = make.grammar.reserve();
              const NodeId maybe = make.grammar.optional(make.literal("a"));
              const NodeId more = make.grammar.sequence({maybe, list, make.literal("b")});
              make.grammar.set(list, grammar::Choice{{more, make.literal("1")}});
              return list;
            }),
            "is left recursive");
  EXPECT_EQ(message([](Maker& make) {
              const NodeId list = make.grammar.reserve();
              make.grammar.set(list, grammar::Sequence{{make.literal("a"), list}});
              return list;
            }),
            "allows no text");
  EXPECT_EQ(message([](Maker& make) {
              const NodeId part = make.grammar.optional(make.literal("a"));
              return make.grammar.add(grammar::Repeat{.part = part, .count_min = 2});
            }),
            "");
}

TEST(Matcher, FollowsRightRecursionAndNesting) {
  Maker make;
  const NodeId list = make.grammar.reserve();
  const NodeId more = make.grammar.sequence({make.literal(","), list});
  make.grammar.set(list, grammar::Sequence{{make.literal("a"), make.grammar.optional(more)}});
  const Matcher flat = make.finish(list, dense_trie());
  EXPECT_TRUE(takes(flat, "a,a,a,a"));

  Maker nested;
  const NodeId value = nested.grammar.reserve();
  nested.grammar.set(value, grammar::Array{.first = {}, .rest = {.value = value}});
  const Matcher matcher = nested.finish(value, dense_trie());
  const std::string open(20'000, '['), close(20'000, ']');
  EXPECT_TRUE(takes(matcher, open + close));
  EXPECT_FALSE(begins(matcher, open + close + "]"));
}

TEST(Matcher, TakesMarkersOnlyAsRawText) {
  std::vector<std::string> tokens = all_bytes();
  tokens.emplace_back("<|call|>");
  const Trie trie = make_trie(tokens, 1);
  Maker make;
  const NodeId text = make.grammar.terminal(TextDfa::until("<|call|>", make.budget));
  const NodeId root = make.grammar.sequence({text, make.grammar.add(grammar::String{})});
  Matcher matcher = make.finish(root, trie);
  const auto allows_marker = [&] { return (matcher.mask()[256 / 32] & 1) != 0; };
  EXPECT_TRUE(allows_marker());
  ASSERT_TRUE(matcher.accept_bytes("x<"));
  EXPECT_TRUE(allows_marker());  // the text x<<|call|>
  ASSERT_TRUE(matcher.accept(256));
  EXPECT_FALSE(allows_marker());
  ASSERT_TRUE(matcher.accept_bytes("\""));
  EXPECT_FALSE(allows_marker());
  EXPECT_FALSE(matcher.accept(256));
  EXPECT_TRUE(matcher.accept_bytes("<|call|>\""));
  EXPECT_TRUE(matcher.is_complete());
  EXPECT_FALSE(matcher.may_continue());
}

TEST(Matcher, UsesOnlyBytesOfTheVocabulary) {
  Maker make;
  const NodeId word = make.grammar.terminal(
      TextDfa::any_of(std::vector<std::string>{"ab", "\u00e9", "abc"}, make.budget));
  Matcher matcher = make.finish(word, make_trie({"a", "b", "abc", "\u00e9"}));
  EXPECT_TRUE(matcher.accept_bytes("ab"));
  EXPECT_TRUE(matcher.is_complete());
  EXPECT_FALSE(matcher.may_continue());
  EXPECT_EQ(Matcher(make.finish(word, make_trie({"a", "b", "abc", "\u00e9"}))).mask()[0], 1u);
  EXPECT_THROW(make.finish(word, make_trie({"a", "c", "abc"})), Error);

  Maker strings;
  const NodeId string = strings.grammar.add(grammar::String{strings.any_of({"a", "b\n"})});
  Matcher plain = strings.finish(string, make_trie({"\"", "a", "b", "\\", "n"}));
  ASSERT_TRUE(plain.accept_bytes("\""));
  EXPECT_EQ(plain.mask()[0], 2u);
}

TEST(Matcher, TruncatesAndCopies) {
  Maker make;
  grammar::Array array;
  array.rest.value = make.grammar.add(grammar::String{});
  Matcher matcher = make.finish(make.grammar.add(array), dense_trie());
  const auto bits = [](Matcher& of) {
    const auto mask = of.mask();
    return std::vector<std::uint32_t>(mask.begin(), mask.end());
  };
  std::vector<std::vector<std::uint32_t>> masks;
  const std::string text = "[\"a\u00e9\",\"b\",[";
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    masks.push_back(bits(matcher));
    ASSERT_TRUE(matcher.accept_bytes(text.substr(i, 1)));
  }
  EXPECT_FALSE(matcher.accept_bytes("["));
  Matcher copy = matcher;
  matcher.truncate(3);
  ASSERT_TRUE(matcher.accept_bytes("a"));
  ASSERT_TRUE(copy.accept_bytes("\""));
  EXPECT_EQ(copy.tokens(), static_cast<std::int64_t>(text.size()));
  while (matcher.tokens() > 0) {
    matcher.truncate(1);
    EXPECT_EQ(bits(matcher), masks[static_cast<std::size_t>(matcher.tokens())]);
  }
}

}  // namespace
}  // namespace ingot
