// An observer of PyTorch's operators that does nothing: what is left is what PyTorch takes to tell.

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

namespace {

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) {
  return nullptr;
}

void end(const at::RecordFunction&, at::ObserverContext*) {}

namespace profiler = torch::profiler::impl;

// What PyTorch tells of a thread's memory.
struct Memory : profiler::ProfilerStateBase {
  Memory() : ProfilerStateBase(profiler::ProfilerConfig(profiler::ProfilerState::CPU)) {}

  profiler::ActiveProfilerType profilerType() override {
    return profiler::ActiveProfilerType::NONE;
  }

  bool memoryProfilingEnabled() const override {
    return true;
  }

  void reportMemoryUsage(void*, int64_t, size_t, size_t, c10::Device) override {}
};

} // namespace

extern "C" __attribute__((visibility("default"))) uint64_t observe(int inputs, int memory) {
  if (memory != 0) {
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, std::make_shared<Memory>());
  }
  return at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end).needsInputs(inputs != 0));
}

extern "C" __attribute__((visibility("default"))) void ignore(uint64_t handle, int memory) {
  at::removeCallback(handle);
  if (memory != 0) {
    c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
  }
}
