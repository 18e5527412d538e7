// Writes GGUF files for tests, field by field, valid or broken in any way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load/gguf/gguf_file.h"

namespace ingot::testing_gguf {

/// Returns the bytes of a number, little-endian.
template <class T>
std::string raw(T value) {
  std::string out(sizeof(T), '\0');
  __builtin_memcpy(out.data(), &value, sizeof(T));
  return out;
}

/// Encodes a GGUF string: its length, then its bytes.
inline std::string raw_text(std::string_view text) {
  return raw(std::uint64_t{text.size()}) + std::string(text);
}

/// A metadata value in encoded form. A test may give it a wrong type.
struct Value {
  std::uint32_t type = 0;
  std::string bytes;
};

inline Value u8(std::uint8_t v) { return {0, raw(v)}; }
inline Value i8(std::int8_t v) { return {1, raw(v)}; }
inline Value u16(std::uint16_t v) { return {2, raw(v)}; }
inline Value i16(std::int16_t v) { return {3, raw(v)}; }
inline Value u32(std::uint32_t v) { return {4, raw(v)}; }
inline Value i32(std::int32_t v) { return {5, raw(v)}; }
inline Value f32(float v) { return {6, raw(v)}; }
inline Value boolean(std::uint8_t v) { return {7, raw(v)}; }
inline Value text(std::string_view v) { return {8, raw_text(v)}; }
inline Value u64(std::uint64_t v) { return {10, raw(v)}; }
inline Value i64(std::int64_t v) { return {11, raw(v)}; }
inline Value f64(double v) { return {12, raw(v)}; }

/// Makes an array value. `element` and `count` may contradict `bytes`.
inline Value raw_array(std::uint32_t element, std::uint64_t count, std::string_view bytes) {
  return {9, raw(element) + raw(count) + std::string(bytes)};
}

template <class T>
Value numbers(std::uint32_t element, const std::vector<T>& values) {
  std::string bytes;
  for (const T v : values) bytes += raw(v);
  return raw_array(element, values.size(), bytes);
}
inline Value floats(const std::vector<float>& v) { return numbers(6, v); }
inline Value bools(const std::vector<std::uint8_t>& v) { return numbers(7, v); }
inline Value ints(const std::vector<std::int32_t>& v) { return numbers(5, v); }
inline Value uints(const std::vector<std::uint32_t>& v) { return numbers(4, v); }

inline Value strings(const std::vector<std::string>& values) {
  std::string bytes;
  for (const std::string& v : values) bytes += raw_text(v);
  return raw_array(8, values.size(), bytes);
}

/// Returns a value of each type, for tests that try every wrong type for a key.
inline std::vector<Value> one_of_each_type() {
  return {u8(1),
          i8(1),
          u16(1),
          i16(1),
          u32(1),
          i32(1),
          f32(1),
          f64(1),
          boolean(1),
          text("x"),
          u64(1),
          i64(1),
          ints({1}),
          floats({1}),
          uints({1}),
          strings({"x"}),
          raw_array(7, 1, raw(std::uint8_t{1}))};
}

/// An entry of the tensor table. GgufWriter computes `offset` and `rank` if they are absent.
struct Tensor {
  std::string name;
  std::vector<std::uint64_t> sizes;  ///< sizes in the file's order: the row length first
  std::uint32_t type = 0;
  std::uint64_t bytes = 0;              ///< number of bytes of the tensor's data
  std::optional<std::uint64_t> offset;  ///< byte offset within the data section
  std::optional<std::uint32_t> rank;
};

/// The parts of a GGUF file. A test can change each part before `build` makes the file.
class GgufWriter {
 public:
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::optional<std::uint64_t> tensor_count;
  std::optional<std::uint64_t> entry_count;
  std::uint64_t alignment = 32;
  bool pad_end = true;
  std::string first_entry;  ///< bytes of a key-value pair before all entries; may be malformed
  std::vector<std::pair<std::string, Value>> entries;
  std::vector<Tensor> tensors;

  /// Sets the value of a key. Appends the key if it is new.
  GgufWriter& set(std::string_view key, Value value) {
    for (auto& [name, old] : entries) {
      if (name == key) {
        old = std::move(value);
        return *this;
      }
    }
    return add(key, std::move(value));
  }
  GgufWriter& add(std::string_view key, Value value) {
    entries.emplace_back(key, std::move(value));
    return *this;
  }
  GgufWriter& remove(std::string_view key) {
    std::erase_if(entries, [&](const auto& entry) { return entry.first == key; });
    return *this;
  }
  /// Adds a tensor of 32-bit floats.
  GgufWriter& tensor(std::string name, std::vector<std::uint64_t> sizes) {
    std::uint64_t bytes = 4;
    for (const std::uint64_t size : sizes) bytes *= size;
    tensors.push_back({std::move(name), std::move(sizes), 0, bytes, {}, {}});
    return *this;
  }

  /// Returns the bytes of header and metadata.
  std::string head() const {
    std::string out = magic + raw(version) + raw(tensor_count.value_or(tensors.size())) +
                      raw(entry_count.value_or(entries.size() + (first_entry.empty() ? 0 : 1))) +
                      first_entry;
    for (const auto& [key, value] : entries) {
      out += raw_text(key) + raw(value.type) + value.bytes;
    }
    return out;
  }

  std::string build() const {
    std::string table, data;
    for (const Tensor& t : tensors) {
      pad(data);
      table += raw_text(t.name) + raw(t.rank.value_or(static_cast<std::uint32_t>(t.sizes.size())));
      for (const std::uint64_t size : t.sizes) table += raw(size);
      table += raw(t.type) + raw(t.offset.value_or(data.size()));
      for (std::uint64_t i = 0; i < t.bytes; ++i) data += static_cast<char>(i * 37 % 61);
    }
    std::string out = head() + table;
    if (!tensors.empty()) pad(out);
    if (pad_end) pad(data);
    return out + data;
  }

 private:
  void pad(std::string& bytes) const {
    while (bytes.size() % alignment != 0) bytes += '\0';
  }
};

/// Makes a complete model of architecture llama with one layer and 16 tokens, about 5 KB.
inline GgufWriter tiny_model() {
  GgufWriter w;
  w.set("general.architecture", text("llama"));
  w.set("general.name", text("tiny"));
  w.set("llama.context_length", u32(64));
  w.set("llama.embedding_length", u32(8));
  w.set("llama.block_count", u32(1));
  w.set("llama.feed_forward_length", u32(16));
  w.set("llama.attention.head_count", u32(2));
  w.set("llama.attention.head_count_kv", u32(1));
  w.set("llama.attention.layer_norm_rms_epsilon", f32(1e-5f));
  w.set("llama.rope.freq_base", f32(10000));
  w.set("llama.rope.dimension_count", u32(4));
  w.set("llama.vocab_size", u32(16));
  w.set("tokenizer.ggml.model", text("llama"));
  w.set("tokenizer.ggml.tokens", strings({"<unk>", "<s>", "</s>", "\xe2\x96\x81", "a", "b", "c",
                                          "d", "e", "f", "g", "h", "ab", "cd", "ef", "gh"}));
  w.set("tokenizer.ggml.scores", floats(std::vector<float>(16, -1.5f)));
  w.set("tokenizer.ggml.token_type", ints({2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
  w.set("tokenizer.ggml.bos_token_id", u32(1));
  w.set("tokenizer.ggml.eos_token_id", u32(2));
  w.set("tokenizer.ggml.unknown_token_id", u32(0));
  w.set("tokenizer.ggml.padding_token_id", u32(0xffffffff));
  w.set("tokenizer.ggml.add_bos_token", boolean(1));
  w.set("tokenizer.ggml.add_eos_token", boolean(0));
  w.tensor("token_embd.weight", {8, 16});
  w.tensor("output_norm.weight", {8});
  w.tensor("blk.0.attn_norm.weight", {8});
  w.tensor("blk.0.attn_q.weight", {8, 8});
  w.tensor("blk.0.attn_k.weight", {8, 4});
  w.tensor("blk.0.attn_v.weight", {8, 4});
  w.tensor("blk.0.attn_output.weight", {8, 8});
  w.tensor("blk.0.ffn_norm.weight", {8});
  w.tensor("blk.0.ffn_gate.weight", {8, 16});
  w.tensor("blk.0.ffn_up.weight", {8, 16});
  w.tensor("blk.0.ffn_down.weight", {16, 8});
  return w;
}

}  // namespace ingot::testing_gguf
