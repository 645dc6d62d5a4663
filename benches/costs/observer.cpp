// An observer of PyTorch's operators that keeps nothing: what is left is what PyTorch and Python take to tell, and, if it is to
// know when, what the clock takes.

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace {

// What our own recorder reads, where it can. What it says is used, so that it is read.
inline void read_clock() {
#if defined(__x86_64__)
  const auto now = __rdtsc();
#else
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
#endif
  asm volatile("" : : "r"(now));
}

template <bool Clock>
std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction&) {
  if (Clock) {
    read_clock();
  }
  return nullptr;
}

template <bool Clock>
void end(const at::RecordFunction&, at::ObserverContext*) {
  if (Clock) {
    read_clock();
  }
}

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

  void reportMemoryUsage(void*, int64_t, size_t, size_t, c10::Device) override {
    read_clock();
  }
};

} // namespace

extern "C" __attribute__((visibility("default"))) uint64_t observe(int clock, int inputs, int memory) {
  if (memory != 0) {
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, std::make_shared<Memory>());
  }
  auto callback = clock != 0 ? at::RecordFunctionCallback(&begin<true>, &end<true>)
                             : at::RecordFunctionCallback(&begin<false>, &end<false>);
  return at::addGlobalCallback(std::move(callback.needsInputs(inputs != 0)));
}

extern "C" __attribute__((visibility("default"))) void ignore(uint64_t handle, int memory) {
  at::removeCallback(handle);
  if (memory != 0) {
    c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
  }
}

// A profile hook of Python's.
extern "C" __attribute__((visibility("default"))) int function_event(void*, void*, int, void*) {
  read_clock();
  return 0;
}
