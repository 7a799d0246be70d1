#pragma once

#include <vector>

namespace lamina::validate::cpu {

/// Numbers of the cores that this process may use.
[[nodiscard]] std::vector<int> own_cores();

/// Puts this process on the core of a rank; ranks take the cores in turn.
void pin_to_core_of(int rank);

/// Lets the calling thread, which mostly sleeps, begin soon after it is woken while another one computes on its core,
/// as a transfer of a device does not wait for its kernels: a slice of 0.1 ms instead of milliseconds (Linux 6.12 and
/// later; without effect before). Its share of the core stays that of any other thread.
void take_short_slices();

}  // namespace lamina::validate::cpu
