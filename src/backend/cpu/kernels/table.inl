// rest_of_table: makes the KernelTable of a lanes type, without linear kernels.
#pragma once

#include "backend/cpu/kernels/attention.inl"
#include "backend/cpu/kernels/linear_pairs.inl"
#include "backend/cpu/kernels/peaks.inl"
#include "backend/cpu/kernels/rows.inl"
#include "backend/cpu/kernels/sampling.inl"

namespace ingot {
namespace {

/// The kernel table of lanes L, without `linear`.
template <class L>
constexpr KernelTable rest_of_table(const char* name) {
  KernelTable t;
  t.name = name;
  t.quantise = quantise_row<L>;
  if constexpr (kTakesTiles<L>) t.quantise_tile = quantise_tile<L>;
  t.round = round_row<L>;
  t.norm = norm_row<L>;
  t.rotate = rotate_row<L>;
  t.scale = scale_row<L>;
  t.cap = cap_row<L>;
  t.normalise = normalise_row<L>;
  t.attention = attention_heads<L>;
  t.attention_split = attention_split<L>;
  t.attention_join = attention_join<L>;
  t.to_half = halve_row<L>;
  t.activate = activate_row<L>;
  t.softmax = softmax_row<L>;
  t.sigmoid = sigmoid_row<L>;
  t.log_sum = log_sum_row<L>;
  t.argmax = argmax_row<L>;
  t.scan = scan_row<L>;
  t.collect = collect_row<L>;
  t.weigh = weigh_row<L>;
  t.add_scaled = add_scaled_row<L>;
  set_peaks<L>(t);
  return t;
}

}  // namespace
}  // namespace ingot
