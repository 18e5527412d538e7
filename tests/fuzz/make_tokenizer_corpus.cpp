// Writes the seeds of fuzz_tokenizer_json and fuzz_sentencepiece: small valid files of every kind
// and some that are just not valid. Usage: make_tokenizer_corpus CORPUS_FOLDER
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "load/tokenizer/tokenizer_files_test_util.h"

namespace {

using namespace ingot::testing;

std::filesystem::path root;

void write(const std::string& target, const std::string& name, const std::string& bytes) {
  const std::filesystem::path folder = root / target;
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << bytes;
}

void write_json() {
  const std::string config = R"({"bos_token": "<s>", "eos_token": {"content": "</s>"},
    "add_bos_token": true, "add_eos_token": false, "additional_special_tokens": ["ab"],
    "added_tokens_decoder": {"8": {"content": "<think>", "special": false, "lstrip": true}},
    "chat_template": [{"name": "default", "template": "x"}]})";
  const std::string target = "fuzz_tokenizer_json";
  write(target, "byte_level", byte_level_json());
  write(target, "byte_level_config", byte_level_json() + std::string(1, '\0') + config);
  write(target, "unigram", unigram_json());
  write(target, "wordpiece", wordpiece_json());
  write(target, "pairs", with(byte_level_json(), R"(["a b"])", R"([["a", "b"]])"));
  write(target, "hole", with(byte_level_json(), R"("id": 7)", R"("id": 90)"));
  write(target, "regex", with(byte_level_json(), R"(\\s+|\\S+)", R"((a+)+\\b(?=b)|(.)\\1)"));
  write(target, "grows",
        with(byte_level_json(), R"("content": "a"}]})", R"("content": "aaaaaaaaaa"}]})"));
  write(target, "unknown_type", with(byte_level_json(), R"("NFC")", R"("NFX")"));
  write(target, "template", with(byte_level_json(), R"("id": "A")", R"("id": "B")"));
  write(target, "charsmap",
        with(unigram_json(), R"({"type": "Nmt"})",
             R"({"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAABhAA=="})"));
  write(target, "fused",
        with(wordpiece_json(), R"({"type": "WordPiece", "prefix": "##", "cleanup": true})",
             R"({"type": "Sequence", "decoders": [
                 {"type": "Replace", "pattern": {"String": "a"}, "content": "b"},
                 {"type": "ByteFallback"}, {"type": "Fuse"},
                 {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})"));
}

void write_sentencepiece() {
  const std::string target = "fuzz_sentencepiece";
  write(target, "bpe", sentencepiece_model(2));
  write(target, "unigram", sentencepiece_model(1));
  write(target, "word", sentencepiece_model(3));
  write(target, "spaces", sentencepiece_model(2, proto_number(3, 0) + proto_number(4, 0)));
  write(target, "map",
        sentencepiece_model(1, proto_bytes(2, std::string("\4\0\0\0\0\0\0\0a\0", 10))));
  write(target, "ids", sentencepiece_model(2) + proto_bytes(2, proto_number(41, 99)));
  std::string bytes = sentencepiece_model(2);
  for (int b = 0; b < 256; ++b) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(b));
    bytes += proto_piece(name, 0, 6);
  }
  write(target, "byte_fallback", bytes + proto_bytes(2, proto_number(35, 1)));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  root = argv[1];
  write_json();
  write_sentencepiece();
  return 0;
}
