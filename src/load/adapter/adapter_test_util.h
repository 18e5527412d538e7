// Writes adapters of PEFT and of GGUF for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/temp_folder_test_util.h"
#include "base/text.h"

namespace ingot::testing_adapter {

/// A tensor of a safetensors file.
struct TestTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
  std::string type = "F32";
};

/// Encodes values as F32, F16 or BF16; for another type, one byte for each value and bit.
inline std::string tensor_data(const TestTensor& t) {
  std::string out;
  for (const float v : t.values) {
    if (t.type == "F32") {
      out.append(reinterpret_cast<const char*>(&v), sizeof v);
    } else if (t.type == "F64") {
      const double d = static_cast<double>(v);
      out.append(reinterpret_cast<const char*>(&d), sizeof d);
    } else if (t.type == "I8") {
      out += static_cast<char>(v);
    } else {
      const std::uint16_t half = t.type == "F16" ? float_to_half(v) : float_to_bfloat16(v);
      out.append(reinterpret_cast<const char*>(&half), sizeof half);
    }
  }
  return out;
}

/// Returns the bytes of a safetensors file.
inline std::string safetensors_of(const std::vector<TestTensor>& tensors) {
  std::string header = "{", data;
  for (const TestTensor& t : tensors) {
    const std::string bytes = tensor_data(t);
    std::string dims;
    for (const std::int64_t dim : t.shape) dims += cat(dims.empty() ? "" : ",", dim);
    header += cat(header.size() == 1 ? "" : ",", "\"", t.name, "\":{\"dtype\":\"", t.type,
                  "\",\"shape\":[", dims, "],\"data_offsets\":[", data.size(), ",",
                  data.size() + bytes.size(), "]}");
    data += bytes;
  }
  header += "}";
  const std::uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + data;
}

/// Makes a tensor whose values are all different multiples of 1/64.
inline TestTensor counted(std::string name, std::vector<std::int64_t> shape,
                          std::string type = "F32") {
  static int next = 0;
  std::int64_t elements = 1;
  for (const std::int64_t dim : shape) elements *= dim;
  TestTensor t{
      .name = std::move(name), .shape = std::move(shape), .values = {}, .type = std::move(type)};
  for (std::int64_t i = 0; i < elements; ++i) {
    t.values.push_back(static_cast<float>((next++ * 37) % 127 - 63) / 64);
  }
  return t;
}

/// Makes the two tensors of a module's pair.
inline std::vector<TestTensor> pair_of(std::string_view module, std::int64_t rank,
                                       std::int64_t inputs, std::int64_t outputs,
                                       const std::string& type = "F32") {
  return {counted(cat("base_model.model.", module, ".lora_A.weight"), {rank, inputs}, type),
          counted(cat("base_model.model.", module, ".lora_B.weight"), {outputs, rank}, type)};
}

inline std::vector<TestTensor> joined(std::vector<std::vector<TestTensor>> lists) {
  std::vector<TestTensor> all;
  for (std::vector<TestTensor>& list : lists) {
    for (TestTensor& t : list) all.push_back(std::move(t));
  }
  return all;
}

/// Writes a folder of PEFT. `config` replaces the members behind "peft_type" if it is not empty.
inline void write_peft(const TempFolder& folder, const std::vector<TestTensor>& tensors,
                       std::string_view config = {}) {
  constexpr std::string_view kUsual =
      R"("r": 2, "lora_alpha": 4, "target_modules": ["q_proj", "v_proj"])";
  folder.write("adapter_config.json",
               cat(R"({"peft_type": "LORA", )", config.empty() ? kUsual : config, "}"));
  folder.write("adapter_model.safetensors", safetensors_of(tensors));
}

}  // namespace ingot::testing_adapter
