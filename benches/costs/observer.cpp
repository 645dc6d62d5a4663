// An observer of PyTorch's operators that does nothing: what is left is what PyTorch takes to tell.

#include <ATen/record_function.h>

namespace {

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) {
  return nullptr;
}

void end(const at::RecordFunction&, at::ObserverContext*) {}

} // namespace

extern "C" __attribute__((visibility("default"))) uint64_t observe(int inputs) {
  return at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end).needsInputs(inputs != 0));
}

extern "C" __attribute__((visibility("default"))) void ignore(uint64_t handle) {
  at::removeCallback(handle);
}
