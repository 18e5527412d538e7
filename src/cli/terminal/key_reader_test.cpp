// The keys of terminals, typed bytes and pastes: cut at every byte, the events are equal.
#include "cli/terminal/key_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace ingot {
namespace {

using Events = std::vector<KeyEvent>;

constexpr KeyReader::Time kStart{};
constexpr KeyReader::Time kLater = kStart + KeyReader::kKeyTime;

void read_all(KeyReader& reader, Events& events) {
  while (auto event = reader.next()) events.push_back(std::move(*event));
}

/// The events of bytes that arrive in pieces, and then no more.
Events events_of(const std::vector<std::string_view>& pieces) {
  KeyReader reader;
  Events events;
  for (const std::string_view piece : pieces) {
    reader.add(piece, kStart);
    read_all(reader, events);
  }
  while (reader.is_waiting()) {
    reader.end_key(kLater);
    read_all(reader, events);
  }
  return events;
}

/// The events of the bytes, which every cut into two and every byte alone must give too.
Events events_of(std::string_view bytes) {
  const Events whole = events_of(std::vector{bytes});
  std::vector<std::string_view> single;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    single.push_back(bytes.substr(i, 1));
    const Events cut = events_of(std::vector{bytes.substr(0, i), bytes.substr(i)});
    EXPECT_EQ(cut, whole) << "cut at " << i;
  }
  EXPECT_EQ(events_of(single), whole);
  return whole;
}

Events text(const std::vector<std::string>& characters) {
  Events events;
  for (const std::string& c : characters) events.push_back({Key::kText, c});
  return events;
}

using namespace std::string_literals;
using namespace std::string_view_literals;

TEST(KeyReader, TextIsCharacters) {
  EXPECT_EQ(events_of("a\t\u00e9\u6f22\U0001F600"),
            text({"a", "\t", "\u00e9", "\u6f22", "\U0001F600"}));
  EXPECT_EQ(events_of("e\u0301"), text({"e", "\u0301"}));
}

TEST(KeyReader, InvalidBytesBecomeReplacementCharactersAndKeepTheirNeighbours) {
  EXPECT_EQ(events_of("a\xff"
                      "b"),
            text({"a", "\uFFFD", "b"}));
  EXPECT_EQ(events_of("a\xe6\xbc"
                      "b"),
            text({"a", "\uFFFD", "b"}));
  EXPECT_EQ(events_of("a\xed\xa0\x80"
                      "b"),
            text({"a", "\uFFFD", "\uFFFD", "\uFFFD", "b"}));
  EXPECT_EQ(events_of("a\xf0\x9f\x98"), text({"a", "\uFFFD"}));
  EXPECT_EQ(events_of("\x1b\xff"
                      "b"),
            text({"\uFFFD", "b"}));
}

TEST(KeyReader, KnownKeys) {
  const std::vector<std::pair<std::string_view, Key>> keys{
      {"\r", Key::kEnter},       {"\n", Key::kEnter},       {"\x1bOM", Key::kEnter},
      {"\x03", Key::kInterrupt}, {"\x04", Key::kClose},     {"\x1a", Key::kSuspend},
      {"\x1b[A", Key::kUp},      {"\x1bOA", Key::kUp},      {"\x1b[1B", Key::kDown},
      {"\x1b[C", Key::kRight},   {"\x1b[D", Key::kLeft},    {"\x1b[H", Key::kHome},
      {"\x1b[1~", Key::kHome},   {"\x1b[F", Key::kEnd},     {"\x1b[4~", Key::kEnd},
      {"\x1b[3~", Key::kDelete}, {"\x7f", Key::kBackspace}, {"\b", Key::kBackspace},
      {"\x0b", Key::kKillToEnd}, {"\x12", Key::kSearch},    {"\x19", Key::kYank},
  };
  for (const auto& [bytes, key] : keys) {
    EXPECT_EQ(events_of(bytes), Events{{key}}) << testing::PrintToString(bytes);
  }
}

TEST(KeyReader, OtherKeysDoNothing) {
  for (const std::string_view key : {"\x1b[1;5C"sv,
                                     "\x1b[1;5D"sv,
                                     "\x1b[5~"sv,
                                     "\x1b[6~"sv,
                                     "\x1b[2~"sv,
                                     "\x1b[15~"sv,
                                     "\x1b[3;5~"sv,
                                     "\x1b[Z"sv,
                                     "\x1b[[A"sv,
                                     "\x1b[[E"sv,
                                     "\x1bOP"sv,
                                     "\x1bO5P"sv,
                                     "\x1bO1;5P"sv,
                                     "\x1b[3$"sv,
                                     "\x1b[3^"sv,
                                     "\x1b[a"sv,
                                     "\x1bOa"sv,
                                     "\x1b\x1b[A"sv,
                                     "\x1b\x1bOA"sv,
                                     "\x1bu"sv,
                                     "\x1b\x64"sv,
                                     "\x1b\x7f"sv,
                                     "\x1b\r"sv,
                                     "\x1b\u00e9"sv,
                                     "\x1b[M !!"sv,
                                     "\x1b[<0;10;20M"sv,
                                     "\x1b[<0;10;20m"sv,
                                     "\x1b[I"sv,
                                     "\x1b[O"sv,
                                     "\x1b[27;5;13~"sv,
                                     "\x1b[97;5u"sv,
                                     "\x1b[?2026;1$y"sv,
                                     "\x1b[201~"sv,
                                     "\x1b[24;80R"sv,
                                     "\x1b[?62;c"sv,
                                     "\x1b]11;rgb:0/0/0\a"sv,
                                     "\x1b]11;rgb:0/0/0\x1b\\"sv,
                                     "\x1bP>|xterm\x1b\\"sv,
                                     "\0"sv,
                                     "\x1c"sv,
                                     "\x1d"sv,
                                     "\x1e"sv,
                                     "\x1f"sv,
                                     "\x11"sv,
                                     "\x13"sv,
                                     "\x18"sv,
                                     "\x0f"sv}) {
    const std::string line = "a" + std::string(key) + "b";
    EXPECT_EQ(events_of(line), text({"a", "b"})) << testing::PrintToString(key);
    EXPECT_EQ(events_of(key), Events()) << testing::PrintToString(key);
  }
}

TEST(KeyReader, AnEscapeAloneDoesNothing) {
  KeyReader reader;
  reader.add("\x1b", kStart);
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_TRUE(reader.is_waiting());
  reader.end_key(kLater - std::chrono::milliseconds(1));
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_TRUE(reader.is_waiting());
  reader.end_key(kLater);
  EXPECT_FALSE(reader.is_waiting());
  reader.add("[A", kLater);
  EXPECT_EQ(reader.next(), (KeyEvent{Key::kText, "["}));
  EXPECT_EQ(reader.next(), (KeyEvent{Key::kText, "A"}));
}

TEST(KeyReader, SequencesThatBreakOffKeepWhatFollows) {
  EXPECT_EQ(events_of("\x1b[1;\ra"), (Events{{Key::kEnter}, {Key::kText, "a"}}));
  EXPECT_EQ(events_of("\x1b[\u00e9"), text({"\u00e9"}));
  EXPECT_EQ(events_of("\x1bO\x03"), Events{{Key::kInterrupt}});
  EXPECT_EQ(events_of("\x1b\x03"), Events{{Key::kInterrupt}});
  EXPECT_EQ(events_of("\x1b]11;x\ra"), (Events{{Key::kEnter}, {Key::kText, "a"}}));
  EXPECT_EQ(events_of("\x1b]11;x\x1b[A"), Events{{Key::kUp}});
  EXPECT_EQ(events_of("\x1b]ab"), text({"a", "b"}));
  EXPECT_EQ(events_of("\x1b[M!\r"), Events{{Key::kEnter}});
  EXPECT_EQ(events_of(std::string(5000, '\x1b') + "[A\r"), Events{{Key::kEnter}});
}

TEST(KeyReader, CtrlVQuotesACharacter) {
  EXPECT_EQ(events_of("\x16\x03\x16\t\x16\r\x16\u00e9"), text({"\x03", "\t", "\r", "\u00e9"}));
  EXPECT_EQ(events_of("\x16\x1b[A"), text({"\x1b", "[", "A"}));
  EXPECT_EQ(events_of("\x16\0b"sv), text({std::string(1, '\0'), "b"}));
  EXPECT_EQ(events_of("\x16\x1b"), text({"\x1b"}));
  EXPECT_EQ(events_of("\x16\x1b[20"), text({"\x1b", "[", "2", "0"}));
}

TEST(KeyReader, CtrlVDoesNotQuoteAPaste) {
  EXPECT_EQ(events_of("\x16\x1b[200~one\rtwo\x1b[201~\x03"),
            (Events{{Key::kPaste, "one\ntwo"}, {Key::kInterrupt}}));
  EXPECT_EQ(events_of("\x16\x1b\x1b[200~x\x1b[201~"),
            (Events{{Key::kText, "\x1b"}, {Key::kPaste, "x"}}));
}

TEST(KeyReader, APasteIsOneEvent) {
  EXPECT_EQ(events_of("a\x1b[200~one\ttwo\r\r\n\nthree\r\x1b[201~b\r"),
            (Events{{Key::kText, "a"},
                    {Key::kPaste, "one\ttwo\n\n\nthree\n"},
                    {Key::kText, "b"},
                    {Key::kEnter}}));
  EXPECT_EQ(events_of("\x1b[200~\x1b[201~"), (Events{{Key::kPaste, ""}}));
  EXPECT_EQ(events_of("\x1b\x1b[200~x\x1b[201~"), (Events{{Key::kPaste, "x"}}));
}

TEST(KeyReader, APasteKeepsAllBytes) {
  const std::string hostile = "\0\x01\x03\x04\x1a\x1b[A\x1b[201\x1bOP\x16\x7f\u00e9"s;
  EXPECT_EQ(events_of("\x1b[200~" + hostile + "\x1b[201~"), (Events{{Key::kPaste, hostile}}));
  EXPECT_EQ(events_of("\x1b[200~a\xff"
                      "b\xe6\xbc\x1b[201~c"),
            (Events{{Key::kPaste, "a\uFFFDb\uFFFD"}, {Key::kText, "c"}}));
}

TEST(KeyReader, APasteWithoutAnEndCanBeEnded) {
  KeyReader reader;
  reader.add("\x1b[200~half", kStart);
  EXPECT_EQ(reader.next(), std::nullopt);
  EXPECT_TRUE(reader.in_paste());
  EXPECT_FALSE(reader.is_waiting());
  reader.add("\x03", kStart);
  EXPECT_EQ(reader.next(), std::nullopt);
  reader.add("\x03", kStart + KeyReader::kPasteStall);
  EXPECT_EQ(reader.next(), (KeyEvent{Key::kPaste, "half\x03"}));
  EXPECT_EQ(reader.next(), KeyEvent{Key::kInterrupt});
}

TEST(KeyReader, APasteHasALimit) {
  const std::string most(KeyReader::kPasteBytesMax, 'x');
  for (const bool is_longer : {false, true}) {
    KeyReader reader;
    Events events;
    reader.add("\x1b[200~", kStart);
    for (std::size_t at = 0; at < most.size(); at += 1 << 20) {
      reader.add(std::string_view(most).substr(at, 1 << 20), kStart);
      read_all(reader, events);
    }
    reader.add(is_longer ? "x\x1b[201~y" : "\x1b[201~y", kStart);
    read_all(reader, events);
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].key, is_longer ? Key::kPasteTooLong : Key::kPaste);
    EXPECT_EQ(events[0].text.size(), is_longer ? 0 : most.size());
    EXPECT_EQ(events[1], (KeyEvent{Key::kText, "y"}));
  }
}

}  // namespace
}  // namespace ingot
