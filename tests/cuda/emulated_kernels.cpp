// The kernels, compiled for a processor; those that wait are the fake's clocks.
#include "tests/cuda/emulation.hpp"
#include "validate/cuda/plugin/kernels/attention.cuh"
#include "validate/cuda/plugin/kernels/elementwise.cuh"
#include "validate/cuda/plugin/kernels/rows.cuh"
