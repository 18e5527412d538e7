// peft_pairs: joins the tensors of a PEFT adapter to pairs.
#pragma once

#include "load/adapter/adapter_file.h"
#include "load/adapter/peft_config.h"

namespace ingot {

/// Makes the file's pairs from its tensors, and checks them against the configuration.
///
/// Errors: model_error that names the tensor: it is no part of a pair, its other half is missing,
/// the configuration does not name its module, or its rank is not the configuration's.
void peft_pairs(const PeftConfig& config, AdapterFile& file);

}  // namespace ingot
