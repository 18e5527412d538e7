// write_quantised: writes the tensors of a plan one after the other.
#include "convert/quantise.h"

#include "convert/tensor_work.h"

namespace ingot {

std::vector<TensorReport> write_quantised(Checkpoint& checkpoint, const QuantisePlan& plan,
                                          const std::string& path, ThreadPool& pool,
                                          QuantiseProgress progress) {
  std::uint64_t total = 0;
  std::vector<GgufTensor> table;
  for (const PlannedTensor& tensor : plan.tensors) {
    table.push_back({tensor.source.name, tensor.source.shape, tensor.choice.format});
    total +=
        static_cast<std::uint64_t>(tensor.source.rows() * tensor.source.cols()) * sizeof(float);
  }
  GgufWriter writer(path, plan.values, std::move(table), plan.alignment);
  std::vector<TensorReport> reports;
  std::uint64_t done = 0;
  for (const PlannedTensor& tensor : plan.tensors) {
    TensorWork work(checkpoint, tensor, pool);
    work.run([&](std::span<const std::byte> bytes) { writer.write(bytes); },
             [&](std::int64_t weights) {
               done += static_cast<std::uint64_t>(weights) * sizeof(float);
               progress(done, total);
             });
    reports.push_back(work.report());
    for (const BoundPart& part : tensor.source.parts) {
      checkpoint.release(*part.tensor);
      if (part.scales != nullptr) checkpoint.release(*part.scales);
    }
  }
  checkpoint.expect_unchanged();
  writer.commit();
  return reports;
}

}  // namespace ingot
