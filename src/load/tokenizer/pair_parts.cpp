// Pair forms: how BERT and RoBERTa put two texts into one sequence.
#include "load/tokenizer/tokenizer_data.h"

namespace ingot {

std::vector<PairPart> bert_pair(std::int32_t begin, std::int32_t end) {
  using enum PairPart::Kind;
  return {{.id = begin},
          {.kind = kFirst},
          {.id = end},
          {.kind = kSecond, .type = 1},
          {.id = end, .type = 1}};
}

std::vector<PairPart> roberta_pair(std::int32_t begin, std::int32_t end) {
  using enum PairPart::Kind;
  return {{.id = begin}, {.kind = kFirst},  {.id = end},
          {.id = end},   {.kind = kSecond}, {.id = end}};
}

}  // namespace ingot
