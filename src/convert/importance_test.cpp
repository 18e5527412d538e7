// Tests of importance matrices: both layouts, damaged ones, and what is written.
#include "convert/importance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"
#include "load/gguf/gguf_writer.h"
#include "quant/formats.h"

namespace ingot {
namespace {

std::vector<std::byte> exact(std::string_view text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

template <class T>
std::string raw(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

std::string raw_floats(const std::vector<float>& values) {
  std::string out;
  for (const float v : values) out += raw(v);
  return out;
}

/// An entry of the older layout.
std::string old_entry(std::string_view name, const std::vector<float>& values,
                      std::int32_t calls = 3) {
  return raw(static_cast<std::int32_t>(name.size())) + std::string(name) + raw(calls) +
         raw(static_cast<std::int32_t>(values.size())) + raw_floats(values);
}

std::string old_file() {
  return raw(std::int32_t{2}) + old_entry("blk.0.attn_q.weight", {1, 0, 2.5f}) +
         old_entry("output.weight", {4, 5}) + raw(std::int32_t{7}) + raw(std::int32_t{4}) + "wiki";
}

std::vector<float> found(const ImportanceMatrix& matrix, std::string_view tensor) {
  const auto values = matrix.find(tensor);
  return {values.begin(), values.end()};
}

/// The message with which these bytes are refused, or nothing.
std::string refusal(std::string_view text) {
  const auto bytes = exact(text);
  try {
    ImportanceMatrix::parse(bytes, "m.dat");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kModel);
    EXPECT_TRUE(error.message().starts_with("m.dat: ")) << error.message();
    return error.message();
  }
  return {};
}

void expect_refusal(std::string_view text, std::string_view part) {
  const std::string message = refusal(text);
  EXPECT_NE(message.find(part), std::string::npos) << "'" << message << "' lacks " << part;
}

TEST(ImportanceOld, IsRead) {
  const auto bytes = exact(old_file());
  const ImportanceMatrix matrix = ImportanceMatrix::parse(bytes, "m.dat");
  EXPECT_EQ(matrix.size(), 2u);
  EXPECT_EQ(found(matrix, "blk.0.attn_q.weight"), (std::vector<float>{1, 0, 2.5f}));
  EXPECT_EQ(found(matrix, "output.weight"), (std::vector<float>{4, 5}));
  EXPECT_TRUE(matrix.find("output").empty());
}

TEST(ImportanceOld, EveryTruncationIsRefused) {
  const std::string whole = old_file();
  const std::size_t values_end = whole.size() - 12;  // what follows is not read
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(refusal(whole.substr(0, length)).empty(), length >= values_end) << length;
  }
}

TEST(ImportanceOld, CountsAndValuesAreChecked) {
  expect_refusal("", "needs 4 bytes");
  expect_refusal(raw(std::int32_t{0}), "0 entries");
  expect_refusal(raw(std::int32_t{-1}), "-1 entries");
  expect_refusal(raw(std::int32_t{65537}), "65537 entries");
  const std::string one = raw(std::int32_t{1});
  expect_refusal(one + raw(std::int32_t{0}), "0 bytes of a name");
  expect_refusal(one + raw(std::int32_t{256}) + std::string(300, 'x'), "256 bytes of a name");
  expect_refusal(one + old_entry("x", {1}, -1), "-1 calls");
  expect_refusal(one + old_entry("x", {}), "0 values");
  expect_refusal(one + raw(std::int32_t{1}) + "x" + raw(std::int32_t{1}) + raw(INT32_MAX),
                 "needs 8589934588 bytes, 0 are left");
  for (const float bad : {-1.0f, std::nanf(""), std::numeric_limits<float>::infinity()}) {
    expect_refusal(one + old_entry("x", {1, bad}), "x has the value");
  }
  expect_refusal(raw(std::int32_t{2}) + old_entry("x", {1}) + old_entry("x", {1}), "twice");
  expect_refusal(one + old_entry("a\x1b[2J", {-1}), "a\\x1b[2J has");
}

/// A GGUF file with these tensors of 32-bit floats, `kind` as its general.type.
std::string gguf(const std::vector<std::pair<GgufTensor, std::vector<float>>>& tensors,
                 std::string_view kind = "imatrix") {
  const TempFolder folder;
  GgufValues values;
  if (!kind.empty()) values.set_text("general.type", kind);
  std::vector<GgufTensor> table;
  for (const auto& [tensor, data] : tensors) table.push_back(tensor);
  GgufWriter writer(folder.path("m"), values, table);
  for (const auto& [tensor, data] : tensors) writer.write(std::as_bytes(std::span(data)));
  writer.commit();
  return File(folder.path("m")).read_all(1 << 20);
}

const GgufTensor kSums{"a.in_sum2", {2, 3}, F32::kFormat};
const GgufTensor kCounts{"a.counts", {2, 1}, F32::kFormat};

TEST(ImportanceGguf, SumsAreDividedByCounts) {
  const auto bytes = exact(gguf({{kSums, {2, 4, 6, 8, 9, 9}}, {kCounts, {2, 0}}}));
  const ImportanceMatrix matrix = ImportanceMatrix::parse(bytes, "m.gguf");
  EXPECT_EQ(matrix.size(), 1u);
  // No row reached the second expert.
  EXPECT_EQ(found(matrix, "a"), (std::vector<float>{1, 2, 3, 0, 0, 0}));
}

TEST(ImportanceGguf, IsRefusedWhereItsPartsDoNotFit) {
  const std::vector<float> six(6, 1.0f);
  expect_refusal(gguf({{kSums, six}, {kCounts, {1, 1}}}, "model"), "not imatrix");
  expect_refusal(gguf({{kSums, six}, {kCounts, {1, 1}}}, ""), "not imatrix");
  expect_refusal(gguf({{kSums, six}}), "has no a.counts");
  expect_refusal(gguf({{kCounts, {1, 1}}}), "no values for any tensor");
  expect_refusal(gguf({{kSums, six}, {{"a.counts", {1, 3}, F32::kFormat}, {1, 1, 1}}}),
                 "has 2 rows of sums, a.counts has 3");
  expect_refusal(gguf({{kSums, {1, 1, 1, 1, 1, -1}}, {kCounts, {1, 1}}}),
                 "a.in_sum2 has the value");
  expect_refusal(gguf({{kSums, six}, {kCounts, {1, std::nanf("")}}}), "a.counts has the value");
  expect_refusal(gguf({{{"a.in_sum2", {2, 6}, F16::kFormat}, six}, {kCounts, {1, 1}}}), "not F32");
}

TEST(ImportanceGguf, EveryTruncationIsRefused) {
  const std::string whole = gguf({{kSums, {2, 4, 6, 8, 9, 9}}, {kCounts, {2, 0}}});
  const std::size_t padding = 32 - 8;  // behind the last tensor
  for (std::size_t length = 0; length + padding < whole.size(); ++length) {
    EXPECT_FALSE(refusal(whole.substr(0, length)).empty()) << length;
  }
}

TEST(Importance, WhatIsWrittenIsReadBack) {
  const TempFolder folder;
  const std::string path = folder.path("m.gguf");
  const std::vector<InputSums> sums{
      {.tensor = "blk.0.ffn_down_exps.weight", .cols = 2, .squares = {2, 4, 0, 0}, .rows = {4, 0}},
      {.tensor = "output.weight", .cols = 1, .squares = {10}, .rows = {5}}};
  write_importance(path, sums, {.text = "text.txt", .windows = 3, .window_tokens = 512});
  const ImportanceMatrix matrix = ImportanceMatrix::read(path);
  EXPECT_EQ(matrix.size(), 2u);
  EXPECT_EQ(found(matrix, "blk.0.ffn_down_exps.weight"), (std::vector<float>{0.5f, 1, 0, 0}));
  EXPECT_EQ(found(matrix, "output.weight"), (std::vector<float>{2}));
}

TEST(Importance, SumsThatAreNotFiniteAreNotWritten) {
  const TempFolder folder;
  for (const double bad : {std::nan(""), 1e39}) {
    const InputSums sums{.tensor = "x", .cols = 1, .squares = {bad}, .rows = {1}};
    try {
      write_importance(folder.path("m"), {&sums, 1}, {});
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kNotFinite);
    }
  }
  EXPECT_TRUE(Directory(folder.path()).list().empty());
}

TEST(Importance, FilesThatAreNoneAreRefused) {
  const TempFolder folder;
  EXPECT_THROW(ImportanceMatrix::read(folder.path("missing")), Error);
  EXPECT_THROW(ImportanceMatrix::read(folder.path()), Error);
  EXPECT_THROW(ImportanceMatrix::read("/dev/zero"), Error);
  EXPECT_THROW(ImportanceMatrix::read(folder.write("text", "just some text, and more of it")),
               Error);
}

}  // namespace
}  // namespace ingot
