// The place that PyTorch has for one profiler on each thread, and the memory that is told there.
#pragma once

#include "hot.h"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace {

namespace torch_profiler = torch::profiler::impl;

bool wants_memory() {
  return (unusual() & MEMORY) != 0;
}

// How often that began.
std::atomic<uint64_t> memory_turn{0};
// The latest for which this thread has asked itself: PyTorch's own profiler cannot have its memory then.
thread_local uint64_t asked_in_turn = 0;

// What PyTorch takes for its own profiler's state. While there is one on a thread, the scopes of compiled code are made, with
// their inputs if the state says that they are wanted, and memory is reported to it.
struct Place : torch_profiler::ProfilerStateBase {
  explicit Place(bool inputs)
      : ProfilerStateBase(torch_profiler::ProfilerConfig(torch_profiler::ProfilerState::CPU, inputs)), inputs(inputs) {}

  torch_profiler::ActiveProfilerType profilerType() override {
    return torch_profiler::ActiveProfilerType::NONE;
  }

  // One that is left on a thread costs it nothing.
  bool memoryProfilingEnabled() const override {
    return wants_memory();
  }

  void reportMemoryUsage(void* address, int64_t bytes, size_t allocated, size_t reserved, c10::Device device) override {
    recorder.memory(
        reinterpret_cast<uint64_t>(address), bytes, allocated, reserved, static_cast<int32_t>(device.type()), device.index());
  }

  const bool inputs;
};

c10::DebugInfoBase* on_this_thread() {
  return c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
}

void push_place(bool inputs) {
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, std::make_shared<Place>(inputs));
}

// This and what follows is called by one thread at a time, as `observe` and `ignore` are.
void want_memory(bool memory) {
  if (memory && !wants_memory()) {
    ++memory_turn;
  }
  set_unusual(MEMORY, memory);
}

bool take_place(bool inputs, bool asks_for_memory) {
  try {
    const auto* there = on_this_thread();
    const auto* place = dynamic_cast<const Place*>(there);
    if (there != nullptr && place == nullptr) {
      return false;
    }
    if (place != nullptr && place->inputs != inputs) {
      c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
      place = nullptr;
    }
    if (place == nullptr) {
      push_place(inputs);
    }
    if (asks_for_memory) {
      want_memory(true);
      asked_in_turn = memory_turn;
    }
    return true;
  } catch (...) {
    return false;
  }
}

void leave_place(bool even_with_memory) {
  try {
    const bool has_memory = wants_memory() && asked_in_turn == memory_turn;
    if (dynamic_cast<const Place*>(on_this_thread()) != nullptr && (even_with_memory || !has_memory)) {
      c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
    }
  } catch (...) {
    // Someone is in the middle of something there. It costs nothing, and is left the next time.
  }
}

// Threads that Python starts have nothing of the one that started them, the place included. It is asked each time, since what a
// node of a graph is run with, the place included, is gone after it.
__attribute__((noinline)) void see_memory_here(bool inputs) noexcept {
  try {
    if (on_this_thread() == nullptr) {
      push_place(inputs);
    }
  } catch (...) {
    // Its memory is not seen.
  }
}

} // namespace
