#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/scenario/scenario.hpp"
#include "validate/numeric/decoder.hpp"
#include "validate/numeric/passes.hpp"

namespace lamina::validate::numeric {

/// The embedding, a layer or the head of one stage, as one rank holds it.
struct Unit {
  int stage = 0;
  int layer = 0;
  bool first_of_stage = false;
  bool last_of_stage = false;
  bool own_matrix = true;           ///< a head that does not use the table of an embedding on its rank
  Part part;                        ///< the tensor-parallel part
  std::vector<std::size_t> places;  ///< [weight of the part] in the whole layer
  std::vector<char> owned;          ///< [weight] whether its optimizer state is this rank's
  std::vector<int> owner;           ///< [weight] data-parallel rank that has its state where that is cut
};

/// Weights, gradients and optimizer state in the memories of one rank. Buffers are shared where the strategy shares
/// them, and what was dropped, handed over or not brought here yet cannot be read.
class Device {
 public:
  Device(const scenario::Strategy& strategy, const Shape& whole, std::vector<Unit> units);

  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }

  /// @throws InternalError for a unit that the rank does not hold
  [[nodiscard]] int unit_of(int stage, int layer) const;

  // Weights
  /// @throws InternalError unless the whole unit is resident
  [[nodiscard]] std::span<const float> weights(int unit) const;
  /// What this rank gives to a restore; entries that it does not own are NaN.
  [[nodiscard]] std::vector<float> shard(int unit);
  /// The end of a restore: `whole` goes into the unit's buffer, whatever that held.
  void restore(int unit, std::vector<float> whole);
  void drop(int unit);
  void copy_weights_in(int unit);

  // Gradients
  /// The unit's gradient buffer, to add to.
  /// @throws InternalError while it holds another unit's gradients that nobody has reduced
  [[nodiscard]] std::span<float> accumulate(int unit);
  /// What this rank gives to a reduction; the buffer is free afterwards.
  [[nodiscard]] std::vector<float> release_gradient(int unit);
  /// The end of a reduction: adds what this rank owns of the sum.
  void add_reduced(int unit, const std::vector<float>& sum);
  /// The gradient that the optimizer sees.
  /// @throws InternalError before its reduction
  [[nodiscard]] std::vector<float>& final_gradient(int unit);
  /// The gradient goes to the host, which updates.
  void copy_gradient_out(int unit);

  // Optimizer
  void copy_state_in(int unit);
  void copy_state_out(int unit);
  /// SGD on what this rank owns: weights -= rate x gradient.
  void update(int unit, float rate);
  /// The same on the host, with the gradient that was copied there.
  void update_on_host(int unit, float rate);

  /// The gradient that the update saw and the weights after it, of what this rank owns; else NaN. Empty: no update.
  [[nodiscard]] const std::vector<float>& used_gradient(int unit) const;
  [[nodiscard]] const std::vector<float>& master(int unit) const;

 private:
  /// A buffer and the unit that it holds; -1: none.
  struct Buffer {
    int unit = -1;
    std::vector<float> values;
  };

  struct State {
    std::vector<float> master;   ///< of what this rank owns
    bool master_here = true;     ///< on the device
    std::vector<float> shard;    ///< of the weights, on the device, where the master is not
    std::vector<float> reduced;  ///< empty: nothing reduced yet
    std::vector<float> on_host;  ///< gradient
    std::vector<float> used;
  };

  [[nodiscard]] State& state(int unit) { return states_[static_cast<std::size_t>(unit)]; }

  [[nodiscard]] const State& state(int unit) const { return states_[static_cast<std::size_t>(unit)]; }

  [[nodiscard]] Buffer& weight_buffer(int unit);
  [[nodiscard]] Buffer& gradient_buffer(int unit);
  [[nodiscard]] std::string name(int unit) const;
  void apply(int unit, const std::vector<float>& gradient, float rate);

  std::vector<Unit> units_;
  std::vector<State> states_;
  std::vector<Buffer> weights_;
  std::vector<Buffer> gradients_;
  bool replicated_ = false;    ///< data-parallel peers
  bool sharded_ = false;       ///< optimizer state is cut
  bool whole_weights_ = true;  ///< resident for the whole step
  bool offloads_state_ = false;
  bool host_updates_ = false;
};

}  // namespace lamina::validate::numeric
