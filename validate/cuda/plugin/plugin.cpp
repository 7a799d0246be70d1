// Entry points of lamina_cuda.so.
#include <memory>

#include "validate/cuda/plugin/device_backend.hpp"
#include "validate/cuda/plugin/micro.hpp"
#include "validate/plugins.hpp"

#define LAMINA_ENTRY extern "C" __attribute__((visibility("default")))

LAMINA_ENTRY int lamina_plugin_version() {
  return lamina::validate::kPluginVersion;
}

LAMINA_ENTRY void lamina_cuda_devices(std::vector<lamina::validate::cuda::Device>& devices) {
  for (lamina::validate::cuda::Device& device : lamina::validate::cuda::find_devices()) {
    devices.push_back(std::move(device));
  }
}

LAMINA_ENTRY lamina::validate::cuda::CudaBackend* lamina_make_cuda_backend(
    const lamina::validate::cuda::DeviceSetup& setup) {
  return std::make_unique<lamina::validate::cuda::DeviceBackend>(setup).release();
}

LAMINA_ENTRY void lamina_cuda_measure(const lamina::validate::cuda::MicroRequest& request,
                                      lamina::validate::cuda::MicroResult& result) {
  result = lamina::validate::cuda::measure(request);
}
