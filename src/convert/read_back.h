// fit_to_readers: checks that GGUF keys give a reader the model for which they were written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "convert/tensor_list.h"
#include "load/checkpoint.h"
#include "load/gguf/gguf_config.h"
#include "load/gguf/gguf_writer.h"
#include "model/bind.h"

namespace ingot {

/// Reads the configuration of a file with these keys. `name`: the file's name in messages.
///
/// Errors: those of `gguf_config`.
Config read_config(const GgufValues& values, const std::string& name, const HasTensor& has_tensor);

/// Reads `values` as a file's loader does, and compares the resulting Spec with the model's.
/// `tensors`: the tensors of the file, some of which belong to the configuration. If no key states
/// the factor of attention scores, the queries' norms or weights get it, with a line in `warnings`.
///
/// Reals may differ by the rounding to 32 bits. The epsilon of MLA's latents, which GGUF does not
/// have, may differ.
/// Errors: model_error with the first property that GGUF does not express.
void fit_to_readers(const Checkpoint& checkpoint, const BoundModel& model, const GgufValues& values,
                    std::vector<ListedTensor>& tensors, std::vector<std::string>& warnings);

/// Returns a Spec without what a conversion to GGUF changes although results stay: where weights
/// get a summand or another order, and numbers of rotary embeddings.
Spec without_spelling(Spec spec);

/// Returns the first line in which `want` and `got` differ, as `want` has it if it has the line;
/// empty if all lines are equal. Both are descriptions of a Spec. Numbers may differ by a rounding
/// to 32 bits.
std::string_view first_difference(std::string_view want, std::string_view got);

}  // namespace ingot
