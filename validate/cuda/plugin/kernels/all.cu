// The only file that nvcc compiles: what its headers cost is paid once for each kind of GPU.
#include "validate/cuda/plugin/kernels/attention.cuh"
#include "validate/cuda/plugin/kernels/elementwise.cuh"
#include "validate/cuda/plugin/kernels/rows.cuh"
#include "validate/cuda/plugin/kernels/waiting.cuh"
