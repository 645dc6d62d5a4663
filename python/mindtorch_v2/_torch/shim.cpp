// What PyTorch tells its observers, passed on to the recorder of mindtorch_v2.
//
// Built for the very PyTorch that it is loaded beside: it reads PyTorch's own structs. It keeps nothing and decides nothing;
// what is recorded, and how, is the matter of the table of functions that it is given. No exception leaves it.

#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/core/ScalarType.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <torch/csrc/profiler/orchestration/observer.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#ifndef NDEBUG
#error "PyTorch's structs have other members without NDEBUG"
#endif

namespace {

// Of both tables. Changed with any change of what they or the words of inputs mean.
constexpr uint32_t VERSION = 2;

struct Op {
  const char* name;
  // Null if it was not asked for.
  const char* overload;
  // Inputs as words; see `encode`.
  const uint64_t* inputs;
  size_t input_words;
  // -1 is none.
  int64_t sequence;
  uint64_t thread;
  uint64_t forward_thread;
  uint64_t scope;
};

// What the recorder does.
struct Recorder {
  uint32_t version;
  // An operation of this thread, which ends here. The key tells it from others that are open.
  void (*begin)(const void* key, const Op* op);
  void (*end)(const void* key);
  // One that may end on another thread.
  void* (*begin_anywhere)(const Op* op);
  void (*end_anywhere)(void* span);
  void (*memory)(uint64_t address, int64_t bytes, uint64_t allocated, uint64_t reserved, int32_t type, int32_t index);
};

// What this library does.
struct Shim {
  uint32_t version;
  // The version of PyTorch that it was built for.
  const char* (*torch)();
  // Observes operations from now on, with their inputs and the names of their overloads, or without. 0 if PyTorch refuses.
  uint64_t (*observe)(bool inputs, bool overloads);
  void (*ignore)(uint64_t handle);
  // Sees the memory of this thread and of those that work for it. False if another profiler does.
  bool (*watch_memory)();
  // Ends that, on the same thread. False if there is nothing to end here.
  bool (*unwatch_memory)();
  // The name of a type of elements, or none.
  const char* (*type_name)(uint8_t type);
};

const Recorder* recorder = nullptr;

// What was asked for last.
std::atomic<bool> wants_inputs{false};
std::atomic<bool> wants_overloads{false};

// The first word of an input: what it is, the type of its elements, and how many there are.
enum Kind : uint64_t { TENSOR, UNSTRIDED, LIST, NONE, INT, FLOAT, BOOL, INTS, FLOATS, BOOLS, TEXT, KEYWORD };

// Lists that are longer are not shown, as PyTorch does it.
constexpr size_t LONGEST_LIST = 30;

constexpr uint64_t first_word(Kind kind, uint64_t type, uint64_t count) {
  return kind | type << 8 | count << 16;
}

// The words of an operation's inputs: on the stack, unless they are many.
class Words {
 public:
  Words() = default;
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  const uint64_t* data() const {
    return words_;
  }

  size_t size() const {
    return length_;
  }

  // Room for so many more.
  uint64_t* add(size_t count) {
    if (length_ + count > capacity_) {
      grow(length_ + count);
    }
    uint64_t* place = words_ + length_;
    length_ += count;
    return place;
  }

  void push(uint64_t word) {
    *add(1) = word;
  }

  void append(c10::IntArrayRef numbers) {
    std::copy(numbers.begin(), numbers.end(), add(numbers.size()));
  }

 private:
  __attribute__((noinline, cold)) void grow(size_t least) {
    std::unique_ptr<uint64_t[]> more(new uint64_t[2 * least]);
    std::copy(words_, words_ + length_, more.get());
    more_ = std::move(more);
    words_ = more_.get();
    capacity_ = 2 * least;
  }

  static constexpr size_t FEW = 128;

  uint64_t few_[FEW];
  std::unique_ptr<uint64_t[]> more_;
  uint64_t* words_ = few_;
  size_t length_ = 0;
  size_t capacity_ = FEW;
};

uint64_t bits(double value) {
  uint64_t word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

void encode(Words& words, const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_nested() || tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
    words.push(first_word(NONE, 0, 0));
    return;
  }
  const auto sizes = tensor.sizes();
  const bool strided = tensor.layout() == at::kStrided;
  const auto type = static_cast<uint64_t>(tensor.scalar_type());
  words.push(first_word(strided ? TENSOR : UNSTRIDED, type, sizes.size()));
  words.append(sizes);
  if (strided) {
    words.append(tensor.strides());
  }
}

void encode_list(Words& words, const at::IValue& value) {
  const auto list = value.toListRef();
  const auto first = list.empty() ? at::IValue() : list[0];
  if (list.size() > LONGEST_LIST || !(list.empty() || first.isInt() || first.isDouble() || first.isBool())) {
    words.push(first_word(NONE, 0, 0));
    return;
  }
  const Kind kind = first.isDouble() ? FLOATS : first.isBool() ? BOOLS : INTS;
  words.push(first_word(kind, 0, list.size()));
  for (const auto& item : list) {
    words.push(
        item.isDouble() ? bits(item.toDouble())
            : item.isBool() ? static_cast<uint64_t>(item.toBool())
            : item.isInt() ? static_cast<uint64_t>(item.toInt())
                           : 0);
  }
}

void encode(Words& words, const at::IValue& value) {
  if (value.isTensor()) {
    encode(words, value.toTensor());
  } else if (value.isInt()) {
    words.push(first_word(INT, 0, 0));
    words.push(static_cast<uint64_t>(value.toInt()));
  } else if (value.isDouble()) {
    words.push(first_word(FLOAT, 0, 0));
    words.push(bits(value.toDouble()));
  } else if (value.isBool()) {
    words.push(first_word(BOOL, 0, 0));
    words.push(value.toBool());
  } else if (value.isTensorList()) {
    const auto tensors = value.toListRef();
    words.push(first_word(LIST, 0, tensors.size()));
    for (const auto& tensor : tensors) {
      encode(words, tensor.toTensor());
    }
  } else if (value.isList()) {
    encode_list(words, value);
  } else {
    words.push(first_word(NONE, 0, 0));
  }
}

void encode_text(Words& words, Kind kind, const std::string& text) {
  words.push(first_word(kind, 0, text.size()));
  const size_t count = (text.size() + 7) / 8;
  uint64_t* place = words.add(count);
  if (count > 0) {
    place[count - 1] = 0;
    std::memcpy(place, text.data(), text.size());
  }
}

// What has a keyword may be a string, or a list of strings.
void encode_value(Words& words, const at::IValue& value) {
  if (value.isString()) {
    encode_text(words, TEXT, value.toStringRef());
  } else if (value.isList() && !value.toListRef().empty() && value.toListRef()[0].isString()) {
    const auto items = value.toListRef();
    words.push(first_word(LIST, 0, items.size()));
    for (const auto& item : items) {
      encode_value(words, item);
    }
  } else {
    encode(words, value);
  }
}

// Older versions of PyTorch have none.
template <typename Function>
void encode_keywords(Words& words, const Function& function) {
  if constexpr (requires { function.kwinputs(); }) {
    for (const auto& [keyword, value] : function.kwinputs()) {
      encode_text(words, KEYWORD, keyword);
      encode_value(words, value);
    }
  }
}

// Only to be freed with the span in it.
struct Anywhere : at::ObserverContext {
  explicit Anywhere(void* span) : span(span) {}
  void* span;
};

bool ends_anywhere(at::RecordScope scope) {
  return scope != at::RecordScope::FUNCTION && scope != at::RecordScope::BACKWARD_FUNCTION;
}

// They do not tell this either.
template <typename Function>
const char* overload_of(const Function& function) {
  if constexpr (requires { function.overload_name(); }) {
    return function.overload_name();
  } else {
    return nullptr;
  }
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  try {
    Words words;
    if (wants_inputs.load(std::memory_order_relaxed)) {
      for (const auto& input : function.inputs()) {
        encode(words, input);
      }
      encode_keywords(words, function);
    }
    const Op op{
        function.name(),
        wants_overloads.load(std::memory_order_relaxed) ? overload_of(function) : nullptr,
        words.data(),
        words.size(),
        function.seqNr(),
        function.threadId(),
        function.forwardThreadId(),
        static_cast<uint64_t>(function.scope())};
    if (ends_anywhere(function.scope())) {
      return std::make_unique<Anywhere>(recorder->begin_anywhere(&op));
    }
    recorder->begin(&function, &op);
  } catch (...) {
    // An input that cannot be looked at. The operation goes on, and is not recorded.
  }
  return nullptr;
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context != nullptr) {
    recorder->end_anywhere(static_cast<Anywhere*>(context)->span);
  } else if (!ends_anywhere(function.scope())) {
    recorder->end(&function);
  }
}

uint64_t observe(bool inputs, bool overloads) {
  try {
    wants_inputs = inputs;
    wants_overloads = overloads;
    return at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end).needsInputs(inputs));
  } catch (...) {
    return 0;
  }
}

void ignore(uint64_t handle) {
  try {
    at::removeCallback(handle);
  } catch (...) {
  }
}

namespace torch_profiler = torch::profiler::impl;

torch_profiler::ProfilerConfig memory_only() {
  // Some scopes of Python's have their inputs only if the state says that they are wanted.
  return torch_profiler::ProfilerConfig(
      torch_profiler::ProfilerState::CPU, /*report_input_shapes=*/true, /*profile_memory=*/true);
}

// PyTorch reports memory to what it takes for its own profiler's state.
struct MemoryWatch : torch_profiler::ProfilerStateBase {
  MemoryWatch() : ProfilerStateBase(memory_only()) {}

  torch_profiler::ActiveProfilerType profilerType() override {
    return torch_profiler::ActiveProfilerType::NONE;
  }

  void reportMemoryUsage(void* address, int64_t bytes, size_t allocated, size_t reserved, c10::Device device) override {
    recorder->memory(
        reinterpret_cast<uint64_t>(address), bytes, allocated, reserved, static_cast<int32_t>(device.type()), device.index());
  }
};

thread_local std::weak_ptr<MemoryWatch> watched_here;

bool watch_memory() {
  try {
    if (c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) != nullptr) {
      return !watched_here.expired();
    }
    auto watch = std::make_shared<MemoryWatch>();
    watched_here = watch;
    c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, std::move(watch));
    return true;
  } catch (...) {
    return false;
  }
}

bool unwatch_memory() {
  try {
    const auto watch = watched_here.lock();
    if (!watch || c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE) != watch.get()) {
      return false;
    }
    c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
    watched_here.reset();
    return true;
  } catch (...) {
    return false;
  }
}

const char* type_name(uint8_t type) {
  try {
    const auto scalar = static_cast<c10::ScalarType>(type);
    if (type >= static_cast<uint8_t>(c10::ScalarType::Undefined)) {
      return nullptr;
    }
    // Names are for ever, but are not always followed by a zero.
    const auto name = c10::scalarTypeToTypeMeta(scalar).name();
    static std::string names[256];
    names[type].assign(name.data(), name.size());
    return names[type].c_str();
  } catch (...) {
    return nullptr;
  }
}

const char* built_for() {
  return MINDTORCH_BUILT_FOR;
}

const Shim shim{VERSION, &built_for, &observe, &ignore, &watch_memory, &unwatch_memory, &type_name};

} // namespace

// Takes the recorder's table, which is for ever, and gives the shim's; nothing if the recorder is of another version.
extern "C" __attribute__((visibility("default"))) const void* mindtorch_bridge(const void* table) {
  const auto* given = static_cast<const Recorder*>(table);
  if (given->version != VERSION) {
    return nullptr;
  }
  recorder = given;
  return &shim;
}
