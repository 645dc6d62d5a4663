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
#include <torch/version.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#ifndef NDEBUG
#error "PyTorch's structs have other members without NDEBUG"
#endif

namespace {

// Of both tables. Changed with any change of what they or the words of inputs mean.
constexpr uint32_t VERSION = 4;

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

Recorder recorder{};

// Whether that was asked for last.
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

  void push(uint64_t first, uint64_t second) {
    uint64_t* place = add(2);
    place[0] = first;
    place[1] = second;
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

inline __attribute__((always_inline)) void encode(Words& words, const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  if (!tensor.defined() || impl->is_nested() || impl->has_symbolic_sizes_strides()) {
    words.push(first_word(NONE, 0, 0));
    return;
  }
  const auto sizes = impl->sizes();
  const size_t count = sizes.size();
  const auto type = static_cast<uint64_t>(tensor.scalar_type());
  const bool is_strided = impl->layout() == at::kStrided;
  const auto strides = is_strided ? impl->strides() : c10::IntArrayRef();
  // Tensors of classes of their own may say anything.
  if (!is_strided || strides.size() != count) {
    uint64_t* place = words.add(1 + count);
    place[0] = first_word(UNSTRIDED, type, count);
    std::copy_n(sizes.data(), count, place + 1);
    return;
  }
  // One loop: a call that copies takes longer than most shapes do.
  uint64_t* place = words.add(1 + 2 * count);
  *place++ = first_word(TENSOR, type, count);
  for (size_t at = 0; at < count; ++at) {
    place[at] = sizes[at];
    place[count + at] = strides[at];
  }
}

void encode_tensors(Words& words, c10::ArrayRef<at::IValue> tensors) {
  words.push(first_word(LIST, 0, tensors.size()));
  for (const auto& tensor : tensors) {
    encode(words, tensor.toTensor());
  }
}

void encode_numbers(Words& words, c10::ArrayRef<at::IValue> list) {
  const Kind kind = list.empty() ? INTS : list[0].isDouble() ? FLOATS : list[0].isBool() ? BOOLS : INTS;
  words.push(first_word(kind, 0, list.size()));
  for (const auto& item : list) {
    words.push(
        item.isInt() ? static_cast<uint64_t>(item.toInt())
            : item.isDouble() ? bits(item.toDouble())
            : item.isBool() ? static_cast<uint64_t>(item.toBool())
                            : 0);
  }
}

void encode_list(Words& words, const at::IValue& value) {
  const auto list = value.toListRef();
  // PyTorch compares types to tell lists of tensors, which takes long, and what is in most lists tells that they are none.
  if ((list.empty() || list[0].isTensor()) && value.isTensorList()) {
    encode_tensors(words, list);
  } else if (list.empty() || (list.size() <= LONGEST_LIST && (list[0].isInt() || list[0].isDouble() || list[0].isBool()))) {
    encode_numbers(words, list);
  } else {
    words.push(first_word(NONE, 0, 0));
  }
}

// What is seldom given comes last.
__attribute__((noinline)) void encode_other(Words& words, const at::IValue& value) {
  if (value.isList()) {
    encode_list(words, value);
  } else if (value.isDouble()) {
    words.push(first_word(FLOAT, 0, 0), bits(value.toDouble()));
  } else {
    words.push(first_word(NONE, 0, 0));
  }
}

// Tensors are what most inputs are, and nothing what most others are: no more is done for them than has to be.
inline __attribute__((always_inline)) void encode(Words& words, const at::IValue& value) {
  if (C10_LIKELY(value.isTensor())) {
    encode(words, value.toTensor());
  } else if (value.isNone()) {
    words.push(first_word(NONE, 0, 0));
  } else if (value.isBool()) {
    words.push(first_word(BOOL, 0, 0), value.toBool());
  } else if (value.isInt()) {
    words.push(first_word(INT, 0, 0), static_cast<uint64_t>(value.toInt()));
  } else {
    encode_other(words, value);
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

using Keywords = std::unordered_map<std::string, at::IValue>;

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 6
// PyTorch gives a copy, which each operator would pay for, and hardly any has keywords. So this takes the member where it is:
// what is named to instantiate a template may be private.
const Keywords& keywords_of(const at::RecordFunction& function);

template <auto Member>
struct Reach {
  friend const Keywords& keywords_of(const at::RecordFunction& function) {
    return function.*Member;
  }
};

template struct Reach<&at::RecordFunction::kwinputs_>;
#else
// Some of the older versions have none.
template <typename Function>
Keywords keywords_of(const Function& function) {
  if constexpr (requires { function.kwinputs(); }) {
    return function.kwinputs();
  } else {
    return {};
  }
}
#endif

__attribute__((noinline)) void encode_keywords(Words& words, const Keywords& keywords) {
  for (const auto& [keyword, value] : keywords) {
    encode_text(words, KEYWORD, keyword);
    encode_value(words, value);
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

// Older versions do not tell this.
template <typename Function>
const char* overload_of(const Function& function) {
  if constexpr (requires { function.overload_name(); }) {
    return function.overload_name();
  } else {
    return nullptr;
  }
}

std::unique_ptr<at::ObserverContext> begin_with(const at::RecordFunction& function, const uint64_t* words, size_t count) {
  const Op op{
      function.name(),
      wants_overloads.load(std::memory_order_relaxed) ? overload_of(function) : nullptr,
      words,
      count,
      function.seqNr(),
      function.threadId(),
      function.forwardThreadId(),
      static_cast<uint64_t>(function.scope())};
  if (ends_anywhere(function.scope())) {
    return std::make_unique<Anywhere>(recorder.begin_anywhere(&op));
  }
  recorder.begin(&function, &op);
  return nullptr;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  try {
    return begin_with(function, nullptr, 0);
  } catch (...) {
    return nullptr;
  }
}

std::unique_ptr<at::ObserverContext> begin_with_inputs(const at::RecordFunction& function) {
  try {
    Words words;
    for (const auto& input : function.inputs()) {
      encode(words, input);
    }
    if (const auto& keywords = keywords_of(function); !keywords.empty()) {
      encode_keywords(words, keywords);
    }
    return begin_with(function, words.data(), words.size());
  } catch (...) {
    // An input that cannot be looked at. The operation goes on, and is not recorded.
    return nullptr;
  }
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context != nullptr) {
    recorder.end_anywhere(static_cast<Anywhere*>(context)->span);
  } else if (!ends_anywhere(function.scope())) {
    recorder.end(&function);
  }
}

namespace torch_profiler = torch::profiler::impl;

// Whether memory is recorded, on any thread, and how often that began.
std::atomic<bool> wants_memory{false};
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
    return wants_memory.load(std::memory_order_relaxed);
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
  if (memory && !wants_memory) {
    ++memory_turn;
  }
  wants_memory = memory;
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
    const bool has_memory = wants_memory && asked_in_turn == memory_turn;
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

// Who observes. One takes another's place by coming before that goes, so that nothing is missed.
enum Observers : int { NOBODY, ONE, ONE_AFTER_ANOTHER };
std::atomic<int> observers{NOBODY};
int observer_count = 0;
bool latest_turn = false;
thread_local const at::RecordFunction* told_of = nullptr;
thread_local bool told_in_turn = false;

// Says whether an operation is to be recorded by the observer of this turn. Where there are two, both are told of what begins,
// one right after the other; and one that was told to go may be told of what began before.
__attribute__((noinline)) bool is_news(const at::RecordFunction& function, bool turn, int observers) {
  if (observers == NOBODY) {
    return false;
  }
  const bool known = told_of == &function && told_in_turn != turn;
  told_of = known ? nullptr : &function;
  told_in_turn = turn;
  return !known;
}

template <bool Turn, bool Inputs>
std::unique_ptr<at::ObserverContext> begin_in_turn(const at::RecordFunction& function) {
  const int now = observers.load(std::memory_order_relaxed);
  if (now != ONE && !is_news(function, Turn, now)) {
    return nullptr;
  }
  if (wants_memory.load(std::memory_order_relaxed)) {
    see_memory_here(Inputs);
  }
  return Inputs ? begin_with_inputs(function) : begin(function);
}

void end_and_forget(const at::RecordFunction& function, at::ObserverContext* context) {
  if (observers.load(std::memory_order_relaxed) != ONE && told_of == &function) {
    told_of = nullptr;
  }
  end(function, context);
}

uint64_t observe(bool inputs, bool overloads) {
  try {
    wants_overloads = overloads;
    observers = observer_count == 0 ? ONE : ONE_AFTER_ANOTHER;
    latest_turn = !latest_turn;
    const auto with_inputs = latest_turn ? &begin_in_turn<true, true> : &begin_in_turn<false, true>;
    const auto without = latest_turn ? &begin_in_turn<true, false> : &begin_in_turn<false, false>;
    const auto begin_now = inputs ? with_inputs : without;
    const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(begin_now, &end_and_forget).needsInputs(inputs));
    ++observer_count;
    return handle;
  } catch (...) {
    return 0;
  }
}

void ignore(uint64_t handle) {
  try {
    if (--observer_count == 0) {
      observers = NOBODY;
    }
    at::removeCallback(handle);
  } catch (...) {
    // It is told of what happens, and records nothing.
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

const Shim shim{VERSION, &built_for, &observe, &ignore, &want_memory, &take_place, &leave_place, &type_name};

} // namespace

// Takes the recorder's table, which is for ever, and gives the shim's; nothing if the recorder is of another version.
extern "C" __attribute__((visibility("default"))) const void* mindtorch_bridge(const void* table) {
  const auto* given = static_cast<const Recorder*>(table);
  if (given->version != VERSION) {
    return nullptr;
  }
  recorder = *given;
  return &shim;
}
