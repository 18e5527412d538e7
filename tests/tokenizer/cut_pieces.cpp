// Cuts texts by a pre-tokenizer and prints where, for tests that compare with other programs.
//
// cut_pieces name NAME   a pre-tokenizer as GGUF files call it
// cut_pieces regex RE    a regular expression, its matches isolated
//
// Reads texts from standard input, each after its size in bytes as four little-endian bytes, and
// writes a line for each: the sizes of its pieces, in bytes.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "text/pretokenize/pattern.h"
#include "text/pretokenize/pretokenize.h"
#include "text/pretokenize/pretokenizer_chain.h"

namespace {

using Split = std::function<void(std::string_view, ingot::EachPiece)>;

/// Nothing for what is not known.
std::optional<Split> find_split(std::string_view kind, std::string_view what) {
  if (kind == "name") {
    if (ingot::find_pretokenizer(what).empty()) return std::nullopt;
    ingot::TokenizerData data;
    ingot::PretokenizerStep& step = data.pretokenizers.emplace_back();
    step.kind = ingot::PretokenizerStep::Kind::kNamed;
    step.name = what;
    const auto chain = std::make_shared<const ingot::PretokenizerChain>(data);
    return
        [chain](std::string_view text, ingot::EachPiece each) { chain->split(text, true, each); };
  }
  if (kind != "regex") return std::nullopt;
  const auto pattern =
      std::make_shared<const ingot::Pattern>(ingot::Pattern::regex(what, "argument"));
  return [pattern](std::string_view text, ingot::EachPiece each) {
    pattern->split(text, ingot::SplitBehavior::kIsolated, false, each);
  };
}

bool read_text(std::string& text) {
  std::uint8_t size[4];
  if (std::fread(size, 1, sizeof size, stdin) != sizeof size) return false;
  text.resize(std::size_t{size[0]} | std::size_t{size[1]} << 8U | std::size_t{size[2]} << 16U |
              std::size_t{size[3]} << 24U);
  return std::fread(text.data(), 1, text.size(), stdin) == text.size();
}

int run(std::string_view kind, std::string_view what) {
  const std::optional<Split> split = find_split(kind, what);
  if (!split) {
    std::cerr << "no " << kind << " '" << what << "'\n";
    return 2;
  }
  for (std::string text; read_text(text);) {
    std::string line;
    (*split)(text, [&](std::string_view piece) { line += std::to_string(piece.size()) + " "; });
    std::cout << line << "\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: cut_pieces name|regex WHAT < texts\n";
    return 2;
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return 1;
  }
}
