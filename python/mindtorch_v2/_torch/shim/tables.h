// What the shim and the recorder have of each other: two tables of functions, and the structs that these pass. `abi.rs` has the
// same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace {

// Of both tables. Changed with any change of what they or the words of inputs mean.
constexpr uint32_t VERSION = 6;

struct Text {
  const char* start;
  size_t length;
};

struct Op {
  Text name;
  // Empty if it was not asked for.
  Text overload;
  // Inputs as words; see `encode`.
  const uint64_t* inputs;
  size_t input_words;
  // Whether it has inputs of which the words are left out.
  bool lacks_inputs;
  // By which name and inputs are known; see `Hash`. Zeros if they need not be remembered.
  uint64_t hash[2];
  // -1 is none.
  int64_t sequence;
  uint64_t thread;
  uint64_t forward_thread;
  uint64_t scope;
};

// What the recorder does.
struct Recorder {
  uint32_t version;
  // An operator of this thread that has this hash, and ends here. The key tells it from others that are open. False if it has to
  // be told in full.
  bool (*begin_known)(const void* key, int64_t sequence, uint64_t one, uint64_t other);
  // A node of the backward pass.
  bool (*begin_known_node)(const void* key, int64_t sequence, uint64_t one, uint64_t other, uint64_t forward_thread);
  void (*end)(const void* key);
  void (*memory)(uint64_t address, int64_t bytes, uint64_t allocated, uint64_t reserved, int32_t type, int32_t index);
  // Any operation of this thread. False if the words of its inputs have to be told.
  bool (*begin)(const void* key, const Op* op);
  // One that may end on another thread.
  void* (*begin_anywhere)(const Op* op);
  void (*end_anywhere)(void* span);
};

// What this library does.
struct Shim {
  uint32_t version;
  // The version of PyTorch that it was built for.
  const char* (*torch)();
  // Observes operations from now on, with their inputs and the names of their overloads, or without. 0 if PyTorch refuses.
  uint64_t (*observe)(bool inputs, bool overloads);
  void (*ignore)(uint64_t handle);
  // Sees the memory of all threads from now on, or none.
  void (*want_memory)(bool memory);
  // Is on this thread what PyTorch takes for a profiler, which wants inputs of scopes or does not. It may have asked for the
  // thread's memory. False if another profiler is.
  bool (*take_place)(bool inputs, bool asks_for_memory);
  // Is no longer; if the thread's memory was asked for and still is, only if so.
  void (*leave_place)(bool even_with_memory);
  // The name of a type of elements, or none.
  const char* (*type_name)(uint8_t type);
};

} // namespace
