#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// A measured training job as plain data: what each worker of a pipeline computed when, and how long each message took.
/// Seconds throughout. Virtual stages are numbered as schedules number them: stage = chunk x pipeline ranks + rank.
namespace lamina::trace {

/// One forward or backward of one micro-batch through one virtual stage.
struct Pass {
  bool backward = false;
  int stage = 0;
  int micro_batch = 0;  ///< counted from 0, whatever the trace calls it
  auto operator<=>(const Pass&) const = default;
};

/// "forward of micro-batch 3, stage 1".
[[nodiscard]] std::string describe(const Pass& pass);

/// A number for every pass of one replica.
class PassTable {
 public:
  PassTable() = default;

  PassTable(int stages, int micro_batches)
      : stages_(stages),
        micro_batches_(micro_batches),
        values_(2 * static_cast<std::size_t>(stages) * static_cast<std::size_t>(micro_batches), 0.0) {}

  [[nodiscard]] int stages() const { return stages_; }

  [[nodiscard]] int micro_batches() const { return micro_batches_; }

  [[nodiscard]] double& at(const Pass& pass) { return values_[index(pass)]; }

  [[nodiscard]] double at(const Pass& pass) const { return values_[index(pass)]; }

  [[nodiscard]] std::size_t index(const Pass& pass) const {
    const std::size_t stage =
        (pass.backward ? static_cast<std::size_t>(stages_) : 0) + static_cast<std::size_t>(pass.stage);
    return stage * static_cast<std::size_t>(micro_batches_) + static_cast<std::size_t>(pass.micro_batch);
  }

  [[nodiscard]] std::size_t size() const { return values_.size(); }

 private:
  int stages_ = 0;
  int micro_batches_ = 0;
  std::vector<double> values_;
};

/// What a pass costs: all that a replay needs.
struct Times {
  PassTable compute;
  PassTable transfer;  ///< of the message that the pass sends on: the shorter of its send and its receive
};

/// One data-parallel replica in one step, with every event that its pipeline needs.
struct MeasuredReplica {
  int replica = 0;  ///< data-parallel rank as in the trace
  Times times;
  std::vector<std::vector<Pass>> order;  ///< [pipeline rank] passes by their start
  std::vector<double> gap_s;             ///< [pipeline rank] between passes, neither computing nor in a send or receive
  double start_s = 0;                    ///< first forward
  double end_s = 0;                      ///< last backward

  [[nodiscard]] double pipeline_s() const { return end_s - start_s; }
};

struct MeasuredStep {
  std::int64_t step = 0;
  std::vector<MeasuredReplica> replicas;  ///< the complete ones
};

/// A replica that cannot be replayed in a step.
struct Skipped {
  std::int64_t step = 0;
  int replica = 0;
  std::string reason;
};

struct Job {
  std::string file;
  int pipeline_ranks = 0;
  int chunks = 1;                   ///< model chunks per pipeline rank (virtual stages)
  int replicas = 0;                 ///< data-parallel ranks that occur anywhere in the trace
  std::vector<MeasuredStep> steps;  ///< those with a complete replica, by number
  std::vector<Skipped> skipped;     ///< by step and replica

  [[nodiscard]] int stages() const { return pipeline_ranks * chunks; }
};

}  // namespace lamina::trace
