// What each operation looks at.
#pragma once

#include "tables.h"

#include <atomic>
#include <cstdint>

namespace {

// What is not as it mostly is.
enum Unusual : uint32_t {
  // There is no observer, or one after another.
  OBSERVERS = 1,
  // The names of overloads were asked for, so that every operation is told in full.
  OVERLOADS = 2,
  // Memory is recorded, on any thread.
  MEMORY = 4,
};

// What each operation needs, in one line of the processor's cache.
struct alignas(64) Hot {
  std::atomic<uint32_t> unusual{OBSERVERS};
  // How often operators came or went; see `operators.h`.
  std::atomic<uint32_t> changes{0};
  Recorder recorder{};
};

Hot hot;
const Recorder& recorder = hot.recorder;

uint32_t unusual() {
  return hot.unusual.load(std::memory_order_relaxed);
}

// Called by one thread at a time.
void set_unusual(Unusual what, bool is) {
  hot.unusual.store(is ? unusual() | what : unusual() & ~what, std::memory_order_relaxed);
}

} // namespace
